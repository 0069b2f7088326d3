"""The dashboard of one backend: its health, latency, failures, and what answers lose without it."""

from typing import Final

from fanfuse_contracts import metrics as m
from tools.dashboard_model import Dashboard, Panel, Query, Variable
from tools.dashboard_parts import (
    COUNTS_PER_S,
    FROM_ZERO,
    NEUTRAL,
    PRICE,
    SECONDS,
    SHARE,
    STACKED,
    STATES,
    TIMELINE,
    heatmap,
    levels,
    over_time,
    quantiles,
    rate,
    share,
    stat,
    worse_from,
)

_ONE: Final = 'kind="$kind", backend="$backend"'
BACKEND: Final = (
    Panel(
        "Health",
        "Green healthy, orange half-open, red degraded or without a worker.",
        (Query(f"max by (kind, backend) ({m.BACKEND_DEGRADED.name}{{{_ONE}}})", "{{kind}}/{{backend}}"),),
        "short",
        "state-timeline",
        width=12,
        height=5,
        options=TIMELINE,
        defaults=STATES,
    ),
    stat(
        "Lanes in workers",
        "Searches per second.",
        rate(m.LANE_SECONDS, where=_ONE, suffix="_count"),
        COUNTS_PER_S,
        levels(NEUTRAL),
        5,
    ),
    stat(
        "Failed in workers",
        "Share of searches that failed.",
        share(
            rate(m.LANE_SECONDS, where=f'{_ONE}, outcome="failed"', suffix="_count"),
            rate(m.LANE_SECONDS, where=_ONE, suffix="_count"),
        ),
        SHARE,
        worse_from(0.01, 0.2),
        5,
    ),
    stat(
        "Price of its kind",
        "Share of hits that only lanes of this kind found.",
        PRICE.replace('found="alone"', 'found="alone", kind="$kind"'),
        SHARE,
        levels(NEUTRAL),
        5,
    ),
)

BACKEND_LANES: Final = (
    quantiles("Lane latency", "From a command's arrival at a worker to its reply.", m.LANE_SECONDS, _ONE),
    heatmap("Lane latency, all", "How many lanes took how long.", m.LANE_SECONDS, _ONE),
    over_time(
        "Lanes in workers by outcome",
        "As workers tell it.",
        Query(rate(m.LANE_SECONDS, "outcome", _ONE, "_count"), "{{outcome}}"),
        defaults=STACKED,
    ),
    over_time(
        "Failures by kind",
        "unavailable, timeout and overloaded count against the backend; the rest is the request's own fault.",
        Query(rate(m.LANE_FAILURES_TOTAL, "failure", _ONE), "{{failure}}"),
    ),
    over_time(
        "Lanes of answers by outcome",
        "As answers tell it: late and skipped lanes are seen only here.",
        Query(rate(m.JOIN_LANES, "outcome", _ONE), "{{outcome}}"),
        defaults=STACKED,
    ),
    over_time(
        "Oldest command of its kind",
        "How long the oldest command of each pool of this kind has been there.",
        Query(f'max by (consumer) ({m.CONSUMER_OLDEST_SECONDS.name}{{consumer=~"worker-$kind-.*"}})', "{{consumer}}"),
        unit=SECONDS,
        defaults=FROM_ZERO,
    ),
)


BACKEND_DASHBOARD: Final = Dashboard(
    "fanfuse-backend",
    "Fanfuse: one backend",
    "Health, latency, failures and price of one backend.",
    (("Now", BACKEND), ("Lanes", BACKEND_LANES)),
    (
        Variable("kind", "Kind", f"label_values({m.BACKEND_DEGRADED.name}, kind)"),
        Variable("backend", "Backend", f'label_values({m.BACKEND_DEGRADED.name}{{kind="$kind"}}, backend)'),
    ),
)
