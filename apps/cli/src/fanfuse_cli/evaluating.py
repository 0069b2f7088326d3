"""`fanfuse eval`: how good answers are on judged queries: through the bus, offline on saved lists, runs of others."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from fanfuse_cli.console import remark
from fanfuse_cli.failures import FAILED, USAGE, plainly, stop
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import (
    DEFAULT_DATA,
    ConfigFile,
    DataDir,
    NatsUrl,
    Overrides,
    PrincipalId,
    Roles,
    Tenant,
    principal,
    stated_access,
    stated_config,
    stated_url,
)
from fanfuse_cli.progress import counting, index_progress
from fanfuse_contracts import limits
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy

if TYPE_CHECKING:
    from fanfuse_contracts.config import FanfuseConfig
    from fanfuse_contracts.query import Principal
    from fanfuse_evaluation.figures import CollectionFigures
    from fanfuse_evaluation.lane_lists import AskedQuery

_TENANT = "eval"
_DEFAULT = FusionConfig()
_NO_EXTRA = "evaluation is not installed here: add the extra `eval`, as in pip install 'fanfuse-cli[eval]'"

Paths = Annotated[
    list[Path] | None,
    typer.Argument(help="Folders in BEIR form (corpus.jsonl, queries.jsonl, qrels.tsv); with --runs more run files."),
]
RunFiles = Annotated[list[Path] | None, typer.Option("--runs", help="A run file of TREC to judge; may be repeated.")]
Qrels = Annotated[Path | None, typer.Option("--qrels", help="Judgements of --runs, in BEIR's or TREC's columns.")]
Offline = Annotated[Path | None, typer.Option("--offline", help="Lists that --save-lanes wrote: no bus, no engine.")]
Policies = Annotated[
    list[FusionPolicy] | None, typer.Option("--policy", help="Fuse the same lists so, too; may be repeated.")
]
RrfK = Annotated[int, typer.Option("--k", help="Of rrf and rrf_rank.")]
Seats = Annotated[int, typer.Option("--seats", help="Reserved seats of --policy; 0: the plain formulas.")]
Vectors = Annotated[
    Path | None, typer.Option(help="Precomputed vectors: an .npz, or a folder of <collection>.npz.", exists=True)
]
Federated = Annotated[bool, typer.Option("--federated", help="Name no corpus: the router selects among all.")]
BudgetMs = Annotated[int, typer.Option(help="Milliseconds until an answer is due.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Queries in flight.")]
SaveLanes = Annotated[Path | None, typer.Option("--save-lanes", help="Write the lists of all lanes, for --offline.")]
SaveRuns = Annotated[Path | None, typer.Option("--save-runs", help="A folder for run files of TREC, one per list.")]
Report = Annotated[Path | None, typer.Option("--report", help="A folder for report.md and report.html.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the bootstrap.")]


@plainly
def evaluate(
    paths: Paths = None,
    runs: RunFiles = None,
    qrels: Qrels = None,
    offline: Offline = None,
    policy: Policies = None,
    k: RrfK = limits.RRF_K,
    seats: Seats = _DEFAULT.reserved_seats,
    vectors: Vectors = None,
    federated: Federated = False,
    budget_ms: BudgetMs = limits.MAX_BUDGET_MS,
    at_once: AtOnce = 8,
    save_lanes: SaveLanes = None,
    save_runs: SaveRuns = None,
    report: Report = None,
    seed: Seed = 5,
    tenant: Tenant = _TENANT,
    identity: PrincipalId = None,
    role: Roles = None,
    file: ConfigFile = None,
    overrides: Overrides = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Measure nDCG@10, R@100 and MRR@10 of every lane, of the answer and of other fusion policies, with intervals.

    Asks the flow that runs on --data or --nats-url; where none runs, one of its own for as long as it takes. Exit code
    1 if an answer differs from the same lists fused offline, or no query of a collection has hits.
    """
    _need_extra()
    _check_usage(paths, runs, qrels, offline)
    if runs and qrels:
        figures = [_of_runs([*runs, *(paths or ())], qrels)]
        how = [f"runs judged by {qrels}"]
    else:
        from fanfuse_evaluation.lane_lists import load, save

        if offline is not None:
            records: Sequence[AskedQuery] = load(offline)
            how = [f"lists of {offline}, fused offline"]
        else:
            who = (tenant, principal(identity, role))
            asked = _Asked(list(paths or ()), vectors, federated, budget_ms, at_once)
            records, how = _through_bus(asked, who, data, stated_url(nats_url), stated_config(file, overrides))
        if save_lanes is not None:
            save(save_lanes, records)
        figures = _figures(records, _policies(policy, k, seats))
    _tell(figures, how, seed, report, save_runs)


class _Asked(NamedTuple):
    """What is asked through the bus, and how."""

    folders: list[Path]
    vectors: Path | None
    federated: bool
    budget_ms: int
    at_once: int


def _need_extra() -> None:
    if find_spec("fanfuse_evaluation") is None:
        stop(_NO_EXTRA, USAGE)


def _check_usage(paths: list[Path] | None, runs: list[Path] | None, qrels: Path | None, offline: Path | None) -> None:
    if [bool(paths) and not runs, bool(runs), offline is not None].count(True) != 1:
        raise typer.BadParameter("give folders of collections, or --runs with --qrels, or --offline")
    if bool(runs) != (qrels is not None):
        raise typer.BadParameter("--runs and --qrels need each other")


def _policies(stated: list[FusionPolicy] | None, k: int, seats: int) -> list[FusionConfig]:
    chosen = list(FusionPolicy) if stated is None else list(dict.fromkeys(stated))
    return [
        FusionConfig(policy=one, k=k if one.ranked else limits.RRF_K, reserved_seats=seats)  # k only where it counts
        for one in chosen
    ]


def _of_runs(paths: list[Path], qrels: Path) -> "CollectionFigures":
    from fanfuse_all_in_one.judged_collection import read_judgements
    from fanfuse_evaluation.runs import judge_runs

    return judge_runs(paths, read_judgements(qrels), qrels.stem)


def _figures(records: "Sequence[AskedQuery]", policies: list[FusionConfig]) -> "list[CollectionFigures]":
    from fanfuse_evaluation.figures import figures_of

    return figures_of(records, policies)


def _through_bus(
    asked: _Asked, who: "tuple[str, Principal | None]", data: Path, url: str | None, config: "FanfuseConfig | None"
) -> "tuple[Sequence[AskedQuery], list[str]]":
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_evaluation.asking import Manner
    from fanfuse_evaluation.collections import read_sources
    from fanfuse_evaluation.flow import Where, ask_collections
    from fanfuse_runtime.logs import configure_logs

    configure_logs("error")
    sources = read_sources(asked.folders, asked.vectors)
    manner = Manner(asked.federated, asked.budget_ms, asked.at_once)
    with data_bus(data, url, announce=False, say=remark) as bus:
        starts = bus.server is not None
        where = Where(bus.url, who[0], data, starts, url is not None, config, who[1], stated_access())
        records = run_until_signal(ask_collections(where, sources, manner, index_progress, counting))
    flow = "a flow of its own" if starts else "a running flow"
    named = "no corpus named, the router selects" if asked.federated else "each collection as its own corpus"
    return records, [f"asked through the bus of {flow}: {named}, budget {asked.budget_ms} ms"]


def _tell(
    figures: "list[CollectionFigures]", how: list[str], seed: int, report: Path | None, save_runs: Path | None
) -> None:
    from fanfuse_evaluation.bootstrap import RESAMPLES
    from fanfuse_evaluation.files import write_report, write_runs
    from fanfuse_evaluation.report import markdown
    from fanfuse_evaluation.summary import summarise

    title = f"Evaluation of {', '.join(one.name for one in figures)}"
    how = [*how, f"intervals: 95 %, paired bootstrap over queries, {RESAMPLES:,} resamples, seed {seed}"]
    summary = summarise(figures, seed=seed)
    print(markdown(figures, summary, title, how))
    if report is not None:
        write_report(report, figures, summary, title, how)
        remark(f"wrote {report / 'report.md'} and {report / 'report.html'}")
    if save_runs is not None:
        remark(f"wrote {len(write_runs(save_runs, figures))} run files to {save_runs}")
    if any(one.places is not None and one.places.order + one.places.score for one in figures):
        stop("an answer differs from the same lists fused offline: see the report", FAILED)
    if silent := [one.name for one in figures if one.places is not None and not one.places.compared]:
        stop(f"no query of {', '.join(silent)} was answered with hits: the report says why", FAILED)
