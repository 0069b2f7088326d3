"""How good answers are on judged queries: asked through the bus, fused again offline, measured, and reported."""
