"""Joins a query's lanes into one ranked, explained answer."""
