"""`fanfuse explain`: why a query was answered as it was, as tables, as JSON, or as a picture of its timeline.

In: an `Explanation`. Out: rich renderables. Nothing is computed that it does not say.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from fanfuse_all_in_one.explanation import ExplainedContribution, ExplainedHit, Explanation, name_of
from fanfuse_all_in_one.timeline_svg import draw_timeline
from fanfuse_cli.console import remark, results
from fanfuse_cli.decisions import clarification_lines, decision_lines
from fanfuse_cli.failures import plainly
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import DEFAULT_DATA, AsJson, DataDir, NatsUrl, Tenant, running_bus
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_contracts.plan import CorpusRoutingDecision
from fanfuse_contracts.tokens import check_token

QueryId = Annotated[str, typer.Argument(help="Id of a query of the last 24 hours.")]
Picture = Annotated[Path | None, typer.Option("--picture", help="Also draw the timeline into this SVG file.")]
_MAX_TITLE = 60


@plainly
def explain(
    query_id: QueryId,
    tenant: Tenant,
    picture: Picture = None,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Explain one answer: what was decided, what each lane gave and when, how scores came about, what is missing."""
    if picture is not None and picture.suffix.lower() != ".svg":
        raise typer.BadParameter("--picture draws SVG: give a file name that ends in .svg")
    if picture is not None and not picture.parent.is_dir():
        raise typer.BadParameter(f"--picture {picture}: there is no folder {picture.parent}, make it first")
    found = _explanation(tenant, check_token(query_id, "query id"), data, nats_url)
    if picture is not None:
        picture.write_text(draw_timeline(title_of(found), found.timeline), encoding="utf-8")
        remark(f"drew {picture}")
    if as_json:
        print(found.to_json().decode())
    else:
        results().print(render_explanation(found), soft_wrap=False)


def _explanation(tenant: str, query_id: str, data: Path, nats_url: str | None) -> Explanation:
    from fanfuse_all_in_one.explaining import explain_query
    from fanfuse_all_in_one.operating import operator_on

    async def run(url: str) -> Explanation:
        async with operator_on(url, data_dir=data) as operator:
            return await explain_query(operator.bus, tenant, query_id)

    return run_until_signal(run(running_bus(data, nats_url)))


def title_of(found: Explanation) -> str:
    """Heading of the picture."""
    return f"{found.tenant} · {found.query_id} · {found.status.value} in {found.elapsed_ms:.1f} ms"


def render_explanation(found: Explanation) -> RenderableType:
    """Everything, in the order in which it happened."""
    parts: list[RenderableType] = [*map(escape, _head(found))]
    if found.corpus_decision is not None:
        parts.append(_corpora(found.corpus_decision))
    parts += [escape(line) for decision in found.decisions for line in decision_lines(decision)]
    if found.timeline:
        parts.append(_timeline(found))
    if found.lanes:
        parts.append(_lanes(found))
    if found.fusion is not None:
        parts.append(_fusion(found.fusion))
    parts += [_hit(hit) for hit in found.hits]
    parts += map(escape, _tail(found))
    return Group(*parts)


def _head(found: Explanation) -> Iterator[str]:
    shape = f" · shape {found.shape.value}" if found.shape else ""
    hits = f"{len(found.hits)} of {found.total} hits"
    yield f"{found.query_id} of {found.tenant}: {found.status.value} · {hits} · {found.elapsed_ms:.1f} ms{shape}"
    yield f"submitted {found.submitted_at or 'unknown'} · answered {found.answered_at}"
    if found.audited:
        fired = ", ".join(found.fired) or "nothing"
        yield f"principal {found.principal or 'none'} · fired {fired}"
    if found.rejection is not None:
        again = "; asking again may help" if found.rejection.retryable else ""
        yield f"refused {found.rejection.code.value}: {found.rejection.message}{again}"
    if found.clarification is not None:
        yield from clarification_lines(found.clarification)


def _corpora(decision: CorpusRoutingDecision) -> Table:
    title = f"corpora: {decision.strategy.value} of {decision.candidate_n} ({decision.reason})"
    table = _table(title, "corpus", "selected", "score", "probability", "reason", "boosted by", "excluded by")
    for one in decision.scores:
        numbers = (f"{one.score:.4f}", f"{one.probability:.4f}")
        spoke = (", ".join(one.boosted_by), ", ".join(one.excluded_by))
        table.add_row(one.corpus, "yes" if one.selected else "no", *numbers, *map(escape, (one.reason, *spoke)))
    return table


def _timeline(found: Explanation) -> Table:
    table = _table("timeline, ms since the broker stored the query", "what", "from", "to", "outcome", "note")
    for bar in found.timeline:
        start = "" if bar.from_ms is None else f"{bar.from_ms:.2f}"
        end = "" if bar.to_ms is None else f"{'' if bar.exact else '≤ '}{bar.to_ms:.2f}"
        table.add_row(*map(escape, (bar.name, start, end, bar.outcome, bar.note)))
    return table


def _lanes(found: Explanation) -> Table:
    head = (
        "lane",
        "backend",
        "pool",
        "requirement",
        "outcome",
        "hits",
        "window",
        "weight",
        "in worker ms",
        "waited ms",
    )
    table = _table("lanes", *head)
    for lane in found.lanes:
        times = (f"{value:.2f}" if value is not None else "" for value in (lane.elapsed_ms, lane.waited_ms))
        window = "" if lane.window is None else str(lane.window)
        names = (lane.lane or "-", name_of(lane), lane.pool or "", lane.requirement.value)
        row = (*names, lane.outcome.value, str(lane.hits), window)
        table.add_row(*row, f"{lane.weight:.4f}", *times)
    return table


def _fusion(applied: FusionApplied) -> str:
    k = "" if applied.k is None else f", k {applied.k}"
    copies = "copies in one hit" if applied.collapse else "copies stay"
    return f"fused by {applied.policy.value}{k}; reserved seats per lane: {applied.reserved_seats}; {copies}"


def _hit(hit: ExplainedHit) -> Table:
    title = hit.title if len(hit.title) <= _MAX_TITLE else f"{hit.title[: _MAX_TITLE - 1]}…"
    copies = "".join(f" · also in {copy.corpus} {copy.chunk_id}" for copy in hit.also_in)
    seat = f" · lifted by the reserved seat of {hit.reserved_by}" if hit.reserved_by else ""
    head = ("lane", "backend", "rank", "engine's score", "weight", "value", "worked out again")
    table = _table(f"#{hit.rank} {hit.corpus} {hit.chunk_id}: {title}{copies}{seat}", *head)
    for part in hit.contributions:
        own = "" if part.score is None else f"{part.score:.6g}"
        row = (part.lane, f"{part.kind.value}/{part.backend}", str(part.rank), own, f"{part.weight:.4f}")
        table.add_row(*row, repr(part.value), _again(part))
    check = "= score" if hit.sum_is_score else f"≠ score {hit.score!r}"
    table.add_row("sum", "", "", "", "", f"{hit.sum!r} {check}")
    return table


def _again(part: ExplainedContribution) -> str:
    if part.recomputed is None:
        return "not known"
    return "= value" if part.recomputed == part.value else f"≠ value: {part.recomputed!r}"


def _tail(found: Explanation) -> Iterator[str]:
    for one in found.missing:
        yield f"missing {one.what} ({one.outcome}): {one.why}"
    if not found.missing and found.lanes:
        yield "missing: nothing"
    reasons = ", ".join(reason.value for reason in found.bm25_fallback_reasons)
    corpora = ", ".join(found.bm25_fallback_corpora)
    yield f"bm25_fallback: {found.bm25_fallback}" + (f" ({corpora}: {reasons})" if found.bm25_fallback else "")
    for line in found.cannot_show:
        yield f"cannot show {line}"


def _table(title: str, *head: str) -> Table:
    return Table(*head, box=None, pad_edge=False, title=escape(title), title_justify="left")
