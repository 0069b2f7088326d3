"""Benchmarks of Fanfuse: processes to measure, what is measured of them, and tables. Never a test, never shipped."""
