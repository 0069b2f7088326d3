"""The operator's dashboard: what is down, whom it hurts, and what it costs in quality."""

from typing import Final

from fanfuse_contracts import metrics as m
from tools.dashboard_model import Dashboard, Panel, Query
from tools.dashboard_parts import (
    AS_SHARE,
    BAD,
    COMPLETE,
    DEGRADED,
    DOUBTFUL,
    FROM_ZERO,
    GOOD,
    NEUTRAL,
    PER_S,
    SECONDS,
    SHARE,
    STACKED,
    STATES,
    TIMELINE,
    heatmap,
    levels,
    over_time,
    quantile,
    quantiles,
    rate,
    share,
    stat,
    worse_from,
)
from tools.quality_panels import QUALITY

_WITHOUT_RESULT: Final = 'status=~"failed|expired"'

NOW: Final = (
    stat("Answers", "Answers stored per second.", rate(m.QUERIES_TOTAL), PER_S, levels(NEUTRAL)),
    stat(
        "bm25_fallback",
        "Share of answers in which some corpus had only keyword lanes because another backend was at fault.",
        share(rate(m.BM25_FALLBACK_TOTAL), rate(m.QUERIES_TOTAL)),
        SHARE,
        worse_from(0.01, 0.05),
    ),
    stat(
        "Failed or expired",
        "Share of answers without any result.",
        share(rate(m.QUERIES_TOTAL, where=_WITHOUT_RESULT), rate(m.QUERIES_TOTAL)),
        SHARE,
        worse_from(0.002, 0.02),
    ),
    stat(
        "Answer p95",
        "From the broker's storing of a query to its answer.",
        quantile(m.ANSWER_SECONDS, 0.95),
        SECONDS,
        worse_from(1.0, 2.0),
    ),
    stat(
        "Join completeness",
        "Share of asked lanes that replied in time.",
        COMPLETE,
        SHARE,
        levels(BAD, (0.95, DOUBTFUL), (0.99, GOOD)),
    ),
    stat(
        "Backends degraded",
        "Backends that are degraded or have no worker.",
        f"sum({DEGRADED} == bool 1)",
        "short",
        levels(GOOD, (1, BAD)),
    ),
)
FALLBACK: Final = (
    over_time(
        "bm25_fallback by tenant class",
        "Whom it hurts: share of the answers of each class (metrics.tenant_classes).",
        Query(
            share(rate(m.BM25_FALLBACK_TOTAL, "tenant_class"), rate(m.QUERIES_TOTAL, "tenant_class")),
            "{{tenant_class}}",
        ),
        unit=SHARE,
        defaults=AS_SHARE,
    ),
    over_time(
        "bm25_fallback by reason",
        "Why: degraded (left out at once), failed, timeout, no_worker, embedder.",
        Query(rate(m.BM25_FALLBACK_TOTAL, "reason"), "{{reason}}", exemplars=True),
        unit=PER_S,
        defaults=STACKED,
    ),
    over_time(
        "Corpora of answers",
        "Named corpora (metrics.corpora) that fell back or lost every lane; the rest is other.",
        Query(rate(m.CORPUS_ANSWERS_TOTAL, "corpus, outcome", 'outcome!="answered"'), "{{corpus}} {{outcome}}"),
    ),
)
ANSWERS: Final = (
    over_time(
        "Answers by status",
        "Every accepted query ends as one of these.",
        Query(rate(m.QUERIES_TOTAL, "status"), "{{status}}"),
        unit=PER_S,
        defaults=STACKED,
    ),
    quantiles("Answer latency", "Quantiles; a dot is the trace of one answer.", m.ANSWER_SECONDS),
    heatmap("Answer latency, all", "How many answers took how long.", m.ANSWER_SECONDS),
    over_time(
        "Refused queries by code",
        "What callers were told instead of an answer.",
        Query(f"{rate(m.REJECTIONS_TOTAL, 'code')} > 0", "{{code}}"),
        unit=PER_S,
        width=12,
    ),
    over_time(
        "Replies not fused",
        "Lane replies with a wrong filter digest, source or lane, or undecodable.",
        Query(rate(m.REFUSED_REPLIES_TOTAL), "refused"),
        width=12,
    ),
)
LANES: Final = (
    over_time(
        "Lanes by outcome",
        "Every wired lane of every selected corpus, as its answer tells it.",
        Query(rate(m.JOIN_LANES, "outcome"), "{{outcome}}"),
        defaults=STACKED,
        width=6,
    ),
    over_time(
        "Lost lanes by backend",
        "Failed, late, or left out as unhealthy.",
        Query(rate(m.JOIN_LANES, "kind, backend", 'outcome=~"failed|late|skipped_unhealthy"'), "{{kind}}/{{backend}}"),
        width=6,
    ),
    over_time(
        "Shed lanes by backend",
        "Of these, the lanes that may be missing and were left out while their pool was under pressure.",
        Query(rate(m.SHED_LANES_TOTAL, "kind, backend"), "{{kind}}/{{backend}}"),
        width=6,
    ),
    over_time(
        "Join completeness",
        "Share of asked lanes that replied in time.",
        Query(COMPLETE, "complete"),
        unit=SHARE,
        defaults=AS_SHARE,
        width=6,
    ),
)
STAGES: Final = (
    over_time(
        "Stage latency, p95",
        "Handling of one message; the fuser's is the life of a plan.",
        Query(quantile(m.STAGE_SECONDS, 0.95, "stage"), "{{stage}}"),
        unit=SECONDS,
        defaults=FROM_ZERO,
    ),
    over_time(
        "Messages being handled",
        "Per stage, over all processes.",
        Query(f"sum by (stage) ({m.IN_FLIGHT.name})", "{{stage}}"),
        unit="short",
        defaults=FROM_ZERO,
    ),
    over_time(
        "Redeliveries and dead letters",
        "Messages delivered again, and those given up.",
        Query(rate(m.REDELIVERED_TOTAL, "stage"), "again {{stage}}"),
        Query(rate(m.DEADLETTERS_TOTAL, "stage"), "dead {{stage}}"),
    ),
)
QUEUES: Final = (
    over_time(
        "Waiting",
        "Messages that no worker took yet (num_pending).",
        Query(f"max by (consumer) ({m.CONSUMER_PENDING.name})", "{{consumer}}"),
        unit="short",
        defaults=FROM_ZERO,
    ),
    over_time(
        "Delivered, not done",
        "Messages delivered and not acknowledged (num_ack_pending).",
        Query(f"max by (consumer) ({m.CONSUMER_ACK_PENDING.name})", "{{consumer}}"),
        unit="short",
        defaults=FROM_ZERO,
    ),
    over_time(
        "Oldest message",
        "How long the oldest message of each queue has been there.",
        Query(f"max by (consumer) ({m.CONSUMER_OLDEST_SECONDS.name})", "{{consumer}}"),
        unit=SECONDS,
        defaults=FROM_ZERO,
    ),
)
HEALTH: Final = (
    Panel(
        "Health of backends",
        "Green healthy, orange half-open (one probe at a time), red degraded or without a worker.",
        (Query(DEGRADED, "{{kind}}/{{backend}}"),),
        "short",
        "state-timeline",
        width=12,
        options=TIMELINE,
        defaults=STATES,
    ),
    over_time(
        "Processes",
        "Scraped, connected to the bus, and ready for work.",
        Query('sum(up{job="fanfuse"})', "scraped"),
        Query(f"sum({m.BUS_CONNECTED.name})", "connected"),
        Query(f"sum({m.READY.name})", "ready"),
        unit="short",
        defaults=FROM_ZERO,
        width=6,
    ),
    over_time(
        "Age of the registry",
        "Since the registry of corpora last answered the process that heard from it least.",
        Query(f"max({m.REGISTRY_AGE_SECONDS.name})", "oldest"),
        unit=SECONDS,
        defaults=FROM_ZERO,
        width=6,
    ),
)
BUS: Final = (
    over_time(
        "Reconnects and dropped messages",
        "Connections that were lost and came back; messages that a client dropped because it could not keep up.",
        Query(rate(m.RECONNECTS_TOTAL), "reconnects"),
        Query(rate(m.SLOW_CONSUMER_TOTAL), "dropped"),
    ),
    over_time(
        "Duplicates refused",
        "Publishes that the broker had stored before: the price of redeliveries.",
        Query(rate(m.DUPLICATES_TOTAL, "stage"), "{{stage}}"),
    ),
    over_time(
        "Tasks",
        "Tasks of the event loop of the process that has most; what grows without end leaks.",
        Query(f"max({m.TASKS.name})", "most"),
        unit="short",
        defaults=FROM_ZERO,
    ),
)
OPERATOR: Final = Dashboard(
    "fanfuse-operator",
    "Fanfuse: operator",
    "What is down, whom it hurts, and what it costs in quality.",
    (
        ("Now", NOW),
        ("Fallback on keyword search", FALLBACK),
        ("Health", HEALTH),
        ("Answers", ANSWERS),
        ("Lanes", LANES),
        ("Quality", QUALITY),
        ("Stages", STAGES),
        ("Queues", QUEUES),
        ("Bus and processes", BUS),
    ),
)
