"""The runtime of every Fanfuse service: bus, delivery rules, setup, registry views, telemetry and process life cycle."""
