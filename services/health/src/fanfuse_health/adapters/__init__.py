"""The ports of the health service, on NATS."""
