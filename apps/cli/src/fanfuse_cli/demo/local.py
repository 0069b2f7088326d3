"""The demonstration on text that every machine has: corpora of two tenants, queries of each shape, an outage."""

from fanfuse_all_in_one.demo_corpora import ACME, GLOBEX, NO_CHECKOUT, DemoCorpus, demo_corpora, find_repository
from fanfuse_all_in_one.demo_questions import QUESTIONS, Question
from fanfuse_all_in_one.indexing import Wish, index_corpus
from fanfuse_cli.demo.checks import check, check_complete, check_finds
from fanfuse_cli.demo.outage import OutageQuestion, play_outage
from fanfuse_cli.demo.scene import Scene
from fanfuse_cli.progress import index_progress
from fanfuse_contracts.enums import RejectionCode

TENANTS = (ACME, GLOBEX)
_OUTAGE = OutageQuestion(ACME, "python-stdlib", "What does os.path.join do with an absolute part?", ("os.path.join",))
_FOREIGN = {ACME: "packages", GLOBEX: "python-stdlib"}


async def play_local(scene: Scene) -> None:
    """Index, ask, look over the fence, lose and regain the vector engine."""
    scene.step("Index text of this machine, while the services run")
    if find_repository() is None:
        scene.console.print(f"  {NO_CHECKOUT}")
    for corpus in demo_corpora():
        await index_demo_corpus(scene, corpus)
    scene.step("Queries of each shape, of two tenants")
    for question in QUESTIONS:
        await _ask(scene, question)
    scene.step("No tenant sees another tenant's corpora")
    for tenant, foreign in _FOREIGN.items():
        await _look_over_the_fence(scene, tenant, foreign)
    await play_outage(scene, _OUTAGE)


async def index_demo_corpus(scene: Scene, corpus: DemoCorpus) -> None:
    """Index one corpus as public within its tenant, and say what it holds."""
    wish = Wish(
        corpus.tenant,
        corpus.corpus,
        public=True,
        display_name=corpus.display_name,
        description=corpus.description,
        term_weights=corpus.term_weights,
    )
    with index_progress(f"{corpus.tenant}/{corpus.corpus}") as told:
        done = await index_corpus(scene.operator, scene.data_dir, wish, corpus.chunks, lambda: corpus.fields, told)
    scene.console.print(f"  {corpus.tenant}/{corpus.corpus}: {done.card.chunks} chunks. {corpus.description}")
    check(done.card.chunks > 0, f"{corpus.corpus} holds nothing")


async def _ask(scene: Scene, question: Question) -> None:
    seeds = {} if question.seeds is None else {"graph_seeds": question.seeds}
    answer = await scene.ask(question.tenant, question.text, **seeds)
    what = f"{question.text!r}"
    check_complete(answer, what)
    shape = answer.shape.value if answer.shape else "none"
    check(shape == question.shape.value, f"{what}: expected shape {question.shape.value}, got {shape}")
    check_finds(answer, question.expected, what)
    if answer.corpus_decision is not None:
        own = {card.corpus for card in await scene.operator.cards() if card.tenant == question.tenant}
        check({hit.corpus for hit in answer.hits} <= own, f"{what}: a hit of a corpus that is not {question.tenant}'s")


async def _look_over_the_fence(scene: Scene, tenant: str, foreign: str) -> None:
    answer = await scene.ask(tenant, "json decoder error position", corpora=(foreign,))
    refused = answer.rejection.code if answer.rejection else None
    check(refused is RejectionCode.UNKNOWN_CORPUS, f"{tenant} asking {foreign}: expected unknown_corpus, got {refused}")
    check(not answer.hits, f"{tenant} asking {foreign}: expected no hits")
    unknown = await scene.clients[tenant].ask("json decoder error position", corpora=("no-such-corpus",))
    same = unknown.rejection is not None and unknown.rejection.code is refused
    check(same, "a foreign corpus and a missing one must look the same")
