"""Searches one backend on behalf of a lane: vector, keyword or graph."""
