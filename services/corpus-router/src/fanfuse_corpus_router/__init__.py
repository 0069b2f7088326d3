"""Decides which corpora and lanes answer a query, with their weights and budget."""
