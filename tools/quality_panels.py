"""The panels on what each kind of lane contributes: the price of losing it."""

from typing import Final

from fanfuse_contracts import metrics as m
from tools.dashboard_model import Panel, Query
from tools.dashboard_parts import AS_SHARE, BARS, BLUE, PRICE, SHARE, over_time, rate, share

QUALITY: Final = (
    Panel(
        "Price of losing a lane",
        "Share of hits that only this kind of lane found, in corpora where another kind replied too: what answers lose "
        "when it is down.",
        (Query(PRICE, "{{kind}}"),),
        SHARE,
        "bargauge",
        width=6,
        options=BARS,
        defaults=AS_SHARE | BLUE,
    ),
    over_time(
        "Found alone, over time",
        "The same per moment.",
        Query(
            share(rate(m.QUALITY_HITS_TOTAL, "kind", 'found="alone"'), rate(m.QUALITY_COMPARED_TOTAL, "kind")),
            "{{kind}}",
        ),
        unit=SHARE,
        width=6,
        defaults=AS_SHARE,
    ),
    over_time(
        "Agreement of two kinds",
        "Share of the hits of either that both found.",
        Query(
            share(rate(m.QUALITY_PAIRS_TOTAL, "pair", 'found="both"'), rate(m.QUALITY_PAIRS_TOTAL, "pair")), "{{pair}}"
        ),
        unit=SHARE,
        width=6,
        defaults=AS_SHARE,
    ),
    over_time(
        "Reserved seats",
        "Hits per second that were lifted so that their kind of lane is not left out.",
        Query(rate(m.QUALITY_SEATS_TOTAL, "kind"), "{{kind}}"),
        width=6,
    ),
)
