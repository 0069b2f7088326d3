"""Engines, embedders and stores behind the ports. Each module needs only the libraries of its own engine."""
