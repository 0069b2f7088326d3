"""Asks a query on the bus and waits for its one answer; knows no service."""
