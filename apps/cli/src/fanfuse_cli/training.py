"""`fanfuse routing fit` and `fanfuse routing lint`: train the corpus scorer, look after rules and cards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanfuse_cli.console import remark
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import DEFAULT_DATA, AsJson, ConfigFile, DataDir, NatsUrl, stated_url

if TYPE_CHECKING:
    from fanfuse_all_in_one.linting import Decided
    from fanfuse_contracts.config import FanfuseConfig
    from fanfuse_contracts.corpus import CorpusCard

routing_app = typer.Typer(help="The corpus scorer, rules and cards.", no_args_is_help=True)

Queries = Annotated[
    Path,
    typer.Option("--queries", help='Labelled queries, JSONL of {"text": …, "corpus": …}.', exists=True, dir_okay=False),
]
Test = Annotated[
    Path | None,
    typer.Option("--test", help="Labelled queries to report on, never learned from.", exists=True, dir_okay=False),
]
ForTenant = Annotated[
    str | None, typer.Option("--tenant", help="Whose corpora the profile scores; without it, every tenant's.")
]
Out = Annotated[Path, typer.Option("--out", help="The profile to write.")]
Last = Annotated[int, typer.Option("--last", min=1, help="How many of the last audited decisions to look at.")]
Unlabelled = Annotated[
    Path | None,
    typer.Option("--queries", help='Queries to decide instead of the audit, JSONL of {"text": …}.', exists=True),
]


@routing_app.command("fit")
@plainly
def fit(queries: Queries, out: Out, test: Test = None, tenant: ForTenant = None, as_json: AsJson = False) -> None:
    """Train the corpus scorer on labelled queries and report its accuracy on queries it has not seen."""
    from fanfuse_training.fit import fit_profile

    report = fit_profile(queries, test=test, tenant=tenant, progress=remark)
    report.write_profile(out)
    if as_json:
        print(report.to_json())
    else:
        print("\n".join(report.lines()))
        print(f"wrote {out}: name it as retrieval.routing.profile in fanfuse.yaml")


@routing_app.command("lint")
@plainly
def lint(
    file: ConfigFile = None,
    last: Last = 1_000,
    queries: Unlabelled = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Find rules that never fire, corpora that are never selected, and cards that say the same.

    Judged by the last audited decisions of what runs, or by the queries of a file. Exit code 1 if anything was found.
    """
    from fanfuse_all_in_one.linting import lint as findings_of
    from fanfuse_runtime.configfile import load_config

    config = load_config(file)
    if queries is not None:
        cards, decided = list(config.cards()), list(_decided(config, queries))
    else:
        cards, decided = _audited(last, tenant, data, nats_url)
    found = findings_of(
        config.retrieval.routing,
        [card for card in cards if tenant in (None, card.tenant)],
        [one for one in decided if tenant in (None, one.tenant)],
    )
    if as_json:
        print(json.dumps([{"check": one.check.value, "message": one.message} for one in found], ensure_ascii=False))
    else:
        for one in found:
            print(f"{one.check.value}: {one.message}")
        remark(f"{len(found)} findings in {len(cards)} cards and {len(decided)} decisions")
    if found:
        raise typer.Exit(FAILED)


def _decided(config: "FanfuseConfig", queries: Path) -> Iterator["Decided"]:
    """Every query is asked as each tenant, by a principal who may read everything."""
    import time

    from fanfuse_all_in_one.linting import Decided
    from fanfuse_all_in_one.offline import OfflineRouter
    from fanfuse_client.queries import build_query
    from fanfuse_contracts import limits
    from fanfuse_contracts.classification import fired_names
    from fanfuse_contracts.plan import Rejection
    from fanfuse_contracts.query import Principal

    router = OfflineRouter(config)
    roles = sorted({role for card in config.cards() for role in card.readers})
    who = Principal(id="lint", roles=frozenset(roles[: limits.MAX_ROLES]))
    for number, line in enumerate(queries.read_bytes().splitlines(), start=1):
        try:
            text = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise typer.BadParameter(f'{queries}:{number}: not a JSON object with "text"') from error
        query = build_query(text, who, {})
        for tenant in router.tenants:
            found = router.classify(tenant, query)
            plan = router.decide(tenant, query, now_s=time.time()).plan
            yield Decided(
                tenant,
                selected=plan.corpus_decision.selected_corpora if plan else (),
                fired=() if isinstance(found, Rejection) else fired_names(found.corpus_scores),
            )


def _audited(
    last: int, tenant: str | None, data: Path, nats_url: str | None
) -> tuple[list["CorpusCard"], list["Decided"]]:
    from fanfuse_all_in_one.auditing import last_audits
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.linting import Decided
    from fanfuse_all_in_one.operating import operator_on

    async def run(url: str, alone: bool) -> tuple[list["CorpusCard"], list[Decided]]:
        async with operator_on(url, alone=alone) as operator:
            audits = await last_audits(operator.bus, last, tenant)
            made = [
                Decided(one.tenant, one.plan.corpus_decision.selected_corpora if one.plan else (), one.fired)
                for one in audits
            ]
            return await operator.cards(), made

    with data_bus(data, stated_url(nats_url), announce=False, say=remark) as bus:
        return run_until_signal(run(bus.url, bus.server is not None))
