"""Pure decisions: what a query text says about itself, and how well each corpus matches it."""
