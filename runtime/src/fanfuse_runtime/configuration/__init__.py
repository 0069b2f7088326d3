"""Parts of reading the operator's file: each takes data and gives data; only `configfile` opens files and raises."""
