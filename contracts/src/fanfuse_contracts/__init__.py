"""Wire contracts of Fanfuse: subjects, streams, models, metrics and limits, declared once and imported by both ends."""
