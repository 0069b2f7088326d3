"""Composes every service in one process; decides nothing itself."""
