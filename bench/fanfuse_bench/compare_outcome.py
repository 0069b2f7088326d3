"""What became of one load: answers, times, CPU, memory. Pure data."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """One contender's load. CPU in seconds of all its processes; times of answered queries."""

    name: str
    queries: int
    seconds: float
    latencies_ms: tuple[float, ...]
    cpu_s: float
    """Of the process that serves."""
    beside_cpu_s: float = 0.0
    """Of nats-server and the caller, where those are processes of their own."""
    peak_mb: float = 0.0
    failed: dict[str, int] = field(default_factory=dict)
    whole: int | None = None
    """Answers with a list of every engine. None: answers do not tell."""
    named: int | None = None
    """Answers that name what is missing. None: answers do not tell."""

    @property
    def cpu_ms(self) -> float:
        """All processes, per query."""
        return (self.cpu_s + self.beside_cpu_s) / self.queries * 1e3
