"""Reads a query: shape, identifiers, entities, scope signals and raw corpus scores."""
