"""`fanfuse demo`: real text, real queries, a real failure; every step is checked."""
