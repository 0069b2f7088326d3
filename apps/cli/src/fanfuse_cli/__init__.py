"""The `fanfuse` command: turns arguments into calls and results into text; decides nothing itself."""
