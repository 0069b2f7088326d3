"""The one table of defaults and limits. Names end in their unit; docs/flow.md prints this table."""

from typing import Final

# Queries
DEFAULT_BUDGET_MS: Final = 2_000
MIN_BUDGET_MS: Final = 50
MAX_BUDGET_MS: Final = 30_000
DEFAULT_TOP_K: Final = 10
MAX_TOP_K: Final = 100
MAX_OFFSET: Final = 400
DEFAULT_WINDOW: Final = 100
MAX_WINDOW: Final = 500
MAX_TEXT_BYTES: Final = 8_192
MAX_FILTER_LEAVES: Final = 32
MAX_FILTER_DEPTH: Final = 5
MAX_CORPORA_PER_QUERY: Final = 32
MAX_GRAPH_SEEDS: Final = 32
MAX_EXPANSION_TERMS: Final = 32
MAX_VECTOR_DIMENSIONS: Final = 4_096
MAX_ROLES: Final = 32
MAX_PRINCIPAL_TOKEN_CHARS: Final = 8_192

# Plans and replies
MAX_LANES: Final = 64
MAX_LANE_REPLY_BYTES: Final = 64 * 1024
MAX_ANSWER_BYTES: Final = 512 * 1024
MAX_TITLE_CHARS: Final = 200
RRF_K: Final = 60
MIN_CORPUS_WEIGHT: Final = 0.001

# Concurrency
FUSER_IN_FLIGHT: Final = 512
CLASSIFIER_IN_FLIGHT: Final = 64
ROUTER_IN_FLIGHT: Final = 64
WORKER_IN_FLIGHT: Final = 16
WORKER_IN_FLIGHT_PER_CORPUS: Final = 8
TENANT_IN_FLIGHT: Final = 256
TENANT_CONNECTIONS: Final = 200
"""To the bus, on all its servers together, where each tenant has an account. A nats-server takes 65,536 in all."""
TENANT_SUBSCRIPTIONS: Final = 1_000
"""Of one such connection: the client has one per query that it waits for. Each takes memory of the server."""

# Delivery
ACK_WAIT_S: Final = 1.0
IN_PROGRESS_EVERY_S: Final = 0.3
MAX_DELIVER: Final = 5
RETRY_DELAYS_S: Final = (0.2, 1.0, 3.0)
PUBLISH_TIMEOUT_S: Final = 2.0
BROKER_CLOCK_EVERY_S: Final = 10.0

# Streams
QUERIES_MAX_MSGS: Final = 100_000
QUERIES_MAX_BYTES: Final = 512 * 1024 * 1024
RETRIEVE_MAX_BYTES: Final = 512 * 1024 * 1024
RETRIEVED_MAX_BYTES: Final = 512 * 1024 * 1024
QUERIES_MAX_AGE_S: Final = 24 * 3600.0
"""As long as answers are kept. What no consumer can be given, as with byte 127 in its subject, ends so (ADR 0021)."""
RETRIEVE_MAX_AGE_S: Final = 3600.0
"""Far more than any budget: a command that nobody took by then is one of a pool that is gone."""
RETRIEVED_MAX_AGE_S: Final = 300.0
ANSWERS_MAX_AGE_S: Final = 24 * 3600.0
ANSWERS_DUPLICATES_S: Final = 600.0
OUTCOMES_MAX_AGE_S: Final = 120.0
DEADLETTERS_PER_SUBJECT: Final = 1_000
"""Of a stage and a tenant, so that no tenant drives out another's."""
OPERATORS_MAX_AGE_S: Final = 30 * 24 * 3600.0
DUPLICATES_S: Final = 120.0

# Health
HEALTH_WINDOW_S: Final = 60.0
HEALTH_MIN_FAILURES: Final = 3
HEALTH_MIN_SHARE: Final = 0.2
FAIR_CALL_MS: Final = 250
"""A call that was given less says nothing of its backend when it is not back in time: the caller's budget was short."""
DEGRADED_FOR_S: Final = 30.0
HEARTBEAT_EVERY_S: Final = 1.0
ABSENT_AFTER_S: Final = 3.0
MAX_COLD_TOLD: Final = 100
RECENT_ANSWERS_S: Final = 300.0
PRESSURE_SHARE: Final = 0.5
KV_REREAD_EVERY_S: Final = 5.0
SUCCESS_SAMPLE_EVERY: Final = 10
PROBE_ON_DECIDE_S: Final = 1.0

# Processes
DRAIN_TIMEOUT_S: Final = 10.0

# Metrics
METRICS_MAX_TENANT_CLASSES: Final = 16
METRICS_MAX_CORPORA: Final = 50
METRICS_MAX_BACKENDS: Final = 64
METRICS_MAX_CONSUMERS: Final = 128
QUALITY_EVERY_S: Final = 10.0
QUALITY_MAX_ROWS: Final = 10_000
QUALITY_MAX_AGE_S: Final = 24 * 3600.0
QUALITY_MAX_BYTES: Final = 64 * 1024 * 1024
