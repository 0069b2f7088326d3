"""What every Fanfuse service runs on: bus, delivery rules, setup, registry views, telemetry, life cycle."""

from importlib.metadata import version

VERSION = version("fanfuse-runtime")
