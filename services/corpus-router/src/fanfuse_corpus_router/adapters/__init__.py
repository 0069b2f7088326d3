"""The ports, kept with the runtime's views of the registry, of health and of live workers."""
