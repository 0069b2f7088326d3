"""Test fixtures and conformance suites that adapters and services inherit; never imported by shipped code."""
