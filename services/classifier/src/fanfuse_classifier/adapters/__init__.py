"""Adapters of the classifier: where its replaceable parts come from."""
