"""Load and faults on real processes and a real broker, and the ledger that proves what became of every query."""
