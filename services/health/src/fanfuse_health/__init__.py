"""Watches outcomes and decides which backends are degraded."""
