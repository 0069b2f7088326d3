"""An answer as a person reads it: a table of hits, what it rests on, what is missing, and what to do.

In: a contract's answer. Out: rich renderables. Nothing is computed that the answer does not say.
"""

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from fanfuse_cli.decisions import clarification_lines
from fanfuse_contracts.answer import Answer, AnswerHit, LaneReport
from fanfuse_contracts.enums import LaneOutcome, RejectionCode, Status, Strategy

ANSWERED = frozenset({Status.COMPLETE, Status.PARTIAL})
_GOOD = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY})
_COLOURS = {Status.COMPLETE: "green", Status.PARTIAL: "yellow"}
_TITLE_WIDTH = 44
_ADVICE = {
    RejectionCode.NO_VISIBLE_CORPUS: "see `fanfuse corpus list`; say who asks with --principal, or index with --public",
    RejectionCode.UNKNOWN_CORPUS: "see `fanfuse corpus list`; say who asks with --principal, or index with --public",
}


def render_answer(answer: Answer, *, trace: bool = False) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = [_headline(answer)]
    if answer.corpus_decision is not None and answer.corpus_decision.strategy is Strategy.EXPLICIT:
        # Names what was pinned and is unknown, beside what was found.
        parts.append(f"  {escape(answer.corpus_decision.reason)}")
    if answer.rejection is not None:
        parts.append(_refusal(answer))
    if answer.clarification is not None:
        parts += [escape(f"  {line}") for line in clarification_lines(answer.clarification)]
    parts += [
        f"  [bold yellow]not confirmed[/]: {one.corpus} ({one.reason.value}): {escape(one.message)}"
        for one in answer.unconfirmed
    ]
    if answer.hits:
        parts.append(_hits(answer.hits))
    if answer.coverage.lanes:
        parts.append(_coverage(answer))
        parts += _lost_lanes(answer)
    parts.append(_fallback(answer))
    if trace:
        parts += [_hops(answer), _lanes(answer)]
    return Group(*parts)


def _headline(answer: Answer) -> str:
    colour = _COLOURS.get(answer.status, "red")
    shape = f" · shape {answer.shape.value}" if answer.shape else ""
    chosen = answer.corpus_decision
    corpora = f" · {chosen.strategy.value}: {', '.join(chosen.selected_corpora)}" if chosen else ""
    status = f"[bold {colour}]{answer.status.value}[/]"
    return f"{status} · {len(answer.hits)} of {answer.total} hits · {answer.elapsed_ms:.1f} ms{shape}{corpora}"


def _refusal(answer: Answer) -> str:
    assert answer.rejection is not None
    advice = _ADVICE.get(answer.rejection.code)
    again = "; asking again may help" if answer.rejection.retryable else ""
    what_to_do = f"\n  what to do: {escape(advice)}" if advice else ""
    return f"  {answer.rejection.code.value}: {escape(answer.rejection.message)}{again}{what_to_do}"


def _hits(hits: tuple[AnswerHit, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("corpus", no_wrap=True)
    table.add_column("title", overflow="ellipsis", no_wrap=True, max_width=_TITLE_WIDTH)
    table.add_column("contributions", overflow="fold")
    for hit in hits:
        row = (str(hit.rank), f"{hit.score:.6f}", hit.corpus, escape(hit.title or hit.chunk_id), _contributions(hit))
        table.add_row(*row)
    return table


def _contributions(hit: AnswerHit) -> str:
    return " + ".join(f"{part.kind.value} #{part.rank} {part.value:.6f}" for part in hit.contributions)


def _coverage(answer: Answer) -> str:
    counts = Counter(lane.outcome for lane in answer.coverage.lanes)
    outcomes = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in LaneOutcome if counts[outcome])
    late = f", {answer.coverage.late} late replies" if answer.coverage.late else ""
    missing = f"; text missing of {len(answer.missing_texts)} hits" if answer.missing_texts else ""
    return f"coverage: {answer.coverage.expected} lanes asked; {outcomes}{late}{missing}"


def _lost_lanes(answer: Answer) -> Iterator[str]:
    for lane in answer.coverage.lanes:
        if lane.outcome not in _GOOD:
            yield f"  {lane.outcome.value} {_name(lane)}: {escape(_why(lane))}"


def _name(lane: LaneReport) -> str:
    return f"{'+'.join(lane.corpora) or lane.corpus} {lane.kind.value}/{lane.backend}"


def _why(lane: LaneReport) -> str:
    return ": ".join(part for part in (lane.failure.value if lane.failure else "", lane.reason) if part) or "no reason"


def _fallback(answer: Answer) -> str:
    if not answer.bm25_fallback:
        return "bm25_fallback: False"
    reasons = ", ".join(reason.value for reason in answer.bm25_fallback_reasons)
    return f"bm25_fallback: [yellow]True[/] ({', '.join(answer.bm25_fallback_corpora)}: {reasons})"


def _hops(answer: Answer) -> Table:
    table = Table("stage", "done at ms", "took ms", box=None, pad_edge=False, title="hops", title_justify="left")
    for hop in answer.hops:
        table.add_row(hop.stage.value, f"{hop.at_ms:.2f}", f"{hop.took_ms:.2f}")
    return table


def _lanes(answer: Answer) -> Table:
    head = ("lane", "backend", "requirement", "outcome", "hits", "weight", "in worker ms", "waited ms")
    table = Table(*head, box=None, pad_edge=False, title="lanes", title_justify="left")
    for lane in answer.coverage.lanes:
        times = (f"{value:.2f}" if value is not None else "" for value in (lane.elapsed_ms, lane.waited_ms))
        names = (lane.lane or "-", _name(lane), lane.requirement.value, lane.outcome.value)
        table.add_row(*names, str(lane.hits), f"{lane.weight:.3f}", *times)
    return table
