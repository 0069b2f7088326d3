"""What an operator looks at first: recent answers, and how they are added up over processes."""

from fanfuse_all_in_one.overview import Overview
from fanfuse_contracts import metrics
from fanfuse_contracts.enums import FallbackReason, Kind, Stage
from fanfuse_contracts.health import ColdLane, Heartbeat, RecentAnswers, ServedPool
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.recent import Recent


class Answering:
    """A process that stores answers as time goes by."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.metrics = Metrics()
        self.metrics.inc(metrics.QUERIES_TOTAL, 500, status="complete", tenant_class="other")
        self.recent = Recent(self.metrics.registry, lambda: self.now_s)

    def second(self, fallback: bool) -> RecentAnswers:
        self.now_s += 1.0
        self.metrics.inc(metrics.QUERIES_TOTAL, status="partial" if fallback else "complete", tenant_class="other")
        if fallback:
            self.metrics.inc(metrics.BM25_FALLBACK_TOTAL, reason="degraded", tenant_class="other")
        return self.recent.answers()


def test_answers_of_the_last_five_minutes_are_told():
    process = Answering()
    assert process.recent.answers() == RecentAnswers(window_s=0.0)
    for _ in range(60):
        told = process.second(fallback=True)
    assert told == RecentAnswers(window_s=60.0, answers=60, fallbacks={FallbackReason.DEGRADED: 60})
    for _ in range(400):
        told = process.second(fallback=False)
    assert told.fallbacks == {}
    assert 300.0 <= told.window_s <= 310.0
    assert told.answers == told.window_s, "one a second"
    assert len(process.recent._looks) <= 32


def beat(service: Stage, instance: str, recent: RecentAnswers, **more) -> Heartbeat:
    return Heartbeat(service=service, instance=instance, version="1.0.0", ready=True, recent=recent, **more)


def test_a_process_counts_once_whatever_services_it_runs():
    whole = RecentAnswers(window_s=100.0, answers=30, fallbacks={FallbackReason.TIMEOUT: 3})
    more = RecentAnswers(window_s=300.0, answers=70, fallbacks={FallbackReason.TIMEOUT: 1, FallbackReason.DEGRADED: 6})
    pool = ServedPool(kind=Kind.VECTOR, pool="main", oldest_share=0.7)
    cold = pool.model_copy(update={"cold": (ColdLane(tenant="t", corpus="c", backend="main"),), "oldest_share": 0.1})
    beats = (
        beat(Stage.FUSER, "one", whole),
        beat(Stage.HEALTH, "one", whole, registry_revision=7),
        beat(Stage.FUSER, "two", more, in_flight=2),
        beat(Stage.BACKEND_WORKERS, "one", whole, pools=(pool,)),
        beat(Stage.BACKEND_WORKERS, "two", more, pools=(cold,)),
    )
    seen = Overview(beats, (), (), ())
    assert (seen.answers.window_s, seen.answers.answers, seen.fallback_rate) == (300.0, 100, 0.1)
    assert seen.answers.fallbacks == {FallbackReason.TIMEOUT: 4, FallbackReason.DEGRADED: 6}
    assert [(row.service, row.ready, row.replicas) for row in seen.services] == [
        (Stage.BACKEND_WORKERS, 2, 2),
        (Stage.FUSER, 2, 2),
        (Stage.HEALTH, 1, 1),
    ]
    assert seen.services[0].pools == ("vector/main (1 cold, under pressure)",)
    lost = ServedPool(kind=Kind.VECTOR, pool="main", servers=("eu", "main"), unusable=("eu",))
    (row,) = Overview((beat(Stage.BACKEND_WORKERS, "one", whole, pools=(lost,)),), (), (), ()).services
    assert row.pools == ("vector/main (engine eu not usable: see the log of its workers)",)
    assert seen.missing == (Stage.CLASSIFIER, Stage.CORPUS_ROUTER)
    assert Overview((), (), (), ()).fallback_rate is None
