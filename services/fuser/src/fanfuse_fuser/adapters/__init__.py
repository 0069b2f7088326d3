"""The fuser's ports, implemented on the bus."""
