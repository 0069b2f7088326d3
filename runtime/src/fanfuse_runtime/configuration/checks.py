"""What one part of a configuration says against another: pure, on the validated model.

An error is what can never work as written. A warning is what is probably not meant, or what only the registry can tell:
with `registry.store` kv or postgres, corpora may also be registered by `fanfuse index`.
"""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final
from urllib.parse import urlsplit

from fanfuse_contracts import limits
from fanfuse_contracts.config import FanfuseConfig, RoutingConfig, ScopeKind, Store
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Strategy
from fanfuse_contracts.registration import CorpusConfig
from fanfuse_runtime.configuration.findings import Finding, KeyPath, Level

_ROUTING: KeyPath = ("retrieval", "routing")
_OPEN_SCHEMES: Final = {"http": "https", "bolt": "bolt+s", "neo4j": "neo4j+s"}
"""Schemes without encryption, and those to use instead."""
_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def check(config: FanfuseConfig) -> Iterator[Finding]:
    """Every finding, in the order of the sections."""
    for part in (
        _rules,
        _unused_scopes,
        _shared_aliases,
        _unconstrained,
        _sharing,
        _quorum_tenants,
        _bounds,
        _fallbacks,
        _card_scopes,
        _arguments,
        _display_names,
        _open_logins,
        _principal_keys,
        _counted_corpora,
        _counted_tenants,
    ):
        yield from part(config)


def _warning(path: KeyPath, message: str) -> Finding:
    return Finding(path, message, Level.WARNING)


def _whole_registry(config: FanfuseConfig) -> bool:
    """True if a corpus that is not in the file does not exist."""
    return config.registry.store is Store.MEMORY


def _tenants(config: FanfuseConfig) -> dict[str, dict[str, CorpusConfig]]:
    """Corpora by tenant and id."""
    found: defaultdict[str, dict[str, CorpusConfig]] = defaultdict(dict)
    for corpus in config.corpora:
        found[corpus.tenant_id][corpus.id] = corpus
    return dict(found)


def _rules(config: FanfuseConfig) -> Iterator[Finding]:
    tenants = _tenants(config)
    level = Level.ERROR if _whole_registry(config) else Level.WARNING
    for at, rule in enumerate(config.retrieval.routing.rules):
        of_rule = tenants if rule.tenant is None else {rule.tenant: tenants.get(rule.tenant, {})}
        for position, name in enumerate(rule.corpora):
            if not any(name in corpora for corpora in of_rule.values()):
                whose = "" if rule.tenant is None else f" of tenant {rule.tenant!r}"
                message = f"rule {rule.name!r} names corpus {name!r}, and `corpora` has none{whose} of this id"
                yield Finding((*_ROUTING, "rules", at, "corpora", position), message, level)


def _unused_scopes(config: FanfuseConfig) -> Iterator[Finding]:
    used = {scope for corpus in config.corpora for scope in corpus.card.scopes}
    for at, scope in enumerate(config.retrieval.routing.scopes):
        if scope.name not in used:
            yield _warning((*_ROUTING, "scopes", at, "name"), f"no card in `corpora` has the scope {scope.name!r}")


def _shared_aliases(config: FanfuseConfig) -> Iterator[Finding]:
    """A word may name a domain and a content type, but not two of one kind."""
    first: dict[tuple[ScopeKind, str], str] = {}
    for at, scope in enumerate(config.retrieval.routing.scopes):
        for position, alias in enumerate(scope.aliases):
            other = first.setdefault((scope.kind, alias.casefold()), scope.name)
            if other != scope.name:
                message = (
                    f"{alias!r} also names {other!r}, the same kind of scope ({scope.kind.value}): both are boosted"
                )
                yield _warning((*_ROUTING, "scopes", at, "aliases", position), message)


def _unconstrained(config: FanfuseConfig) -> Iterator[Finding]:
    name = config.retrieval.routing.unconstrained_corpus
    if name is None:
        return
    here = [(at, corpus) for at, corpus in enumerate(config.corpora) if corpus.id == name]
    if not here:
        level = Level.ERROR if config.corpora or _whole_registry(config) else Level.WARNING
        yield Finding((*_ROUTING, "unconstrained_corpus"), f"`corpora` has no corpus {name!r}", level)
    for at, corpus in here:
        if not corpus.card.public:
            message = f"corpus {name!r} of tenant {corpus.tenant_id!r} is the unconstrained_corpus, and must be public"
            yield Finding(("corpora", at, "card", "public"), message)


def _sharing(config: FanfuseConfig) -> Iterator[Finding]:
    routing = config.retrieval.routing
    if routing.fan_out:
        return
    where = (*_ROUTING, "fan_out")
    if routing.max_corpora == 1:
        yield Finding(where, "false has no effect with max_corpora 1: there is never a second corpus to share a lane")
    elif not any(_can_share(one, other) for one, other in combinations(config.cards(), 2)):
        level = Level.ERROR if config.corpora or _whole_registry(config) else Level.WARNING
        message = (
            "false has no effect: no two corpora of one tenant share a vector backend, its pool and an embedder, "
            "and only vector backends search several corpora in one call"
        )
        yield Finding(where, message, level)


def _can_share(one: CorpusCard, other: CorpusCard) -> bool:
    if one.tenant != other.tenant:
        return False
    mine, theirs = set(_shared_lanes(one)), set(_shared_lanes(other))
    return any(kind is not Kind.VECTOR or one.embedder == other.embedder for kind, _, _ in mine & theirs)


def _shared_lanes(card: CorpusCard) -> Iterator[tuple[Kind, str, str]]:
    def usable(wiring: Wiring) -> bool:
        return wiring.shared and wiring.weight > 0.0

    return ((wiring.kind, wiring.backend, wiring.pool) for wiring in card.backends if usable(wiring))


def _quorum_tenants(config: FanfuseConfig) -> Iterator[Finding]:
    """A misspelt tenant would leave its lanes at `should` in silence."""
    tenants = sorted(_tenants(config))
    level = Level.ERROR if _whole_registry(config) else Level.WARNING
    for name in sorted(config.retrieval.quorum.keys() - set(tenants)):
        yield Finding(("retrieval", "quorum", name), _no_tenant(name, tenants), level)


def _no_tenant(name: str, tenants: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, tenants, 1)
    meant = f", did you mean {near[0]!r}?" if near else f"; its tenants are: {', '.join(tenants) or 'none'}"
    return f"`corpora` has no corpus of tenant {name!r}{meant}"


def _bounds(config: FanfuseConfig) -> Iterator[Finding]:
    routing = config.retrieval.routing
    most = max((len(corpora) for corpora in _tenants(config).values()), default=0)
    if routing.min_corpora > limits.MAX_CORPORA_PER_QUERY:
        message = f"{routing.min_corpora} can never be met: a query has at most {limits.MAX_CORPORA_PER_QUERY} corpora"
        yield Finding((*_ROUTING, "min_corpora"), message)
    elif most and routing.min_corpora > most:
        message = f"{routing.min_corpora} is never met: no tenant in `corpora` has more than {most}"
        yield _warning((*_ROUTING, "min_corpora"), message)
    yield from _budget(config)
    yield from _threshold(routing)


def _budget(config: FanfuseConfig) -> Iterator[Finding]:
    routing = config.retrieval.routing
    for tenant, corpora in sorted(_tenants(config).items()):
        cheapest = sum(sorted(corpus.card.cost for corpus in corpora.values())[: routing.min_corpora])
        if routing.max_cost and routing.min_corpora > 1 and cheapest > routing.max_cost:
            message = (
                f"min_corpora {routing.min_corpora} is never met for tenant {tenant!r}: "
                f"its cheapest corpora cost {cheapest:g} together, over max_cost {routing.max_cost:g}"
            )
            yield _warning((*_ROUTING, "max_cost"), message)


def _threshold(routing: RoutingConfig) -> Iterator[Finding]:
    where, threshold = (*_ROUTING, "score_threshold"), routing.score_threshold
    if threshold * routing.min_corpora > 1.0:
        message = (
            f"{threshold:g} can never be met by min_corpora {routing.min_corpora}: probabilities sum to 1, "
            f"so {routing.min_corpora} corpora have at most {1 / routing.min_corpora:.3g} each"
        )
        yield Finding(where, message)
    elif threshold == 1.0:
        yield _warning(where, "1 can never be met by one of several corpora: max_corpora: 1 says it plainly")
    if threshold and routing.strategy in {Strategy.ALL, Strategy.EXPLICIT}:
        yield _warning(where, f"has no effect under strategy {routing.strategy.value}")


def _fallbacks(config: FanfuseConfig) -> Iterator[Finding]:
    tenants = _tenants(config)
    for at, corpus in enumerate(config.corpora):
        mine = tenants[corpus.tenant_id]
        for position, name in enumerate(corpus.card.fallbacks):
            if message := _why_no_fallback(corpus, name, mine.get(name), tenants):
                yield Finding(("corpora", at, "card", "fallbacks", position), message)


def _why_no_fallback(
    corpus: CorpusConfig, name: str, found: CorpusConfig | None, tenants: dict[str, dict[str, CorpusConfig]]
) -> str | None:
    if found is None:
        owners = sorted(tenant for tenant, corpora in tenants.items() if name in corpora)
        who = f" of tenant {corpus.tenant_id!r}, only of {', '.join(owners)}" if owners else ""
        return f"`corpora` has no corpus {name!r}{who}"
    mine, other = corpus.card.source.value, found.card.source.value
    return None if mine == other else f"corpus {name!r} holds another kind of truth: source {other}, not {mine}"


def _card_scopes(config: FanfuseConfig) -> Iterator[Finding]:
    known = [scope.name for scope in config.retrieval.routing.scopes]
    for at, corpus in enumerate(config.corpora):
        for scope in sorted(corpus.card.scopes.difference(known)):
            message = f"scope {scope!r} is not in retrieval.routing.scopes; known are: {', '.join(known) or 'none'}"
            yield Finding(("corpora", at, "card", "scopes"), message)


def _arguments(config: FanfuseConfig) -> Iterator[Finding]:
    for at, corpus in enumerate(config.corpora):
        fields = corpus.card.fields
        for number, capability in enumerate(corpus.card.can_answer):
            for position, argument in enumerate(capability.required):
                if argument.field is not None and argument.field not in fields:
                    path = ("corpora", at, "card", "can_answer", number, "required", position, "field")
                    known = ", ".join(sorted(fields)) or "none"
                    yield Finding(path, f"{argument.field!r} is no field of the card; its fields are: {known}")


def _display_names(config: FanfuseConfig) -> Iterator[Finding]:
    names = Counter((corpus.tenant_id, corpus.display_name) for corpus in config.corpora if corpus.display_name)
    for at, corpus in enumerate(config.corpora):
        if names[corpus.tenant_id, corpus.display_name] > 1:
            message = f"{corpus.display_name!r} is the name of two corpora of tenant {corpus.tenant_id!r}"
            yield _warning(("corpora", at, "display_name"), message)


def _open_logins(config: FanfuseConfig) -> Iterator[Finding]:
    """Secrets that whoever is on the way to a server can read."""
    for kind, name, backend in config.backends.servers():
        address = urlsplit(backend.url or "")
        secret = "password" if backend.password else "api_key" if backend.api_key else None
        is_open = address.scheme in _OPEN_SCHEMES and backend.ca_file is None
        if secret and is_open and address.hostname not in _THIS_MACHINE:
            message = f"{secret} goes over the network unencrypted: use {_OPEN_SCHEMES[address.scheme]}://"
            yield _warning(("backends", kind.value, name, "url"), message)


def _principal_keys(config: FanfuseConfig) -> Iterator[Finding]:
    if config.security.require_signed_principal:
        for tenant in sorted(_tenants(config).keys() - config.security.principal_keys.keys()):
            message = f"tenant {tenant!r} has corpora but no key: nobody can ask there except for public corpora"
            yield _warning(("security", "principal_keys"), message)


def _counted_corpora(config: FanfuseConfig) -> Iterator[Finding]:
    """A misspelt corpus would be counted as `other` in silence; without `corpora` the registry alone knows them."""
    known = sorted(f"{corpus.tenant_id}/{corpus.id}" for corpus in config.corpora)
    for at, name in enumerate(config.metrics.corpora if known else ()):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f", did you mean {near[0]!r}?" if near else ""
            yield _warning(("metrics", "corpora", at), f"`corpora` has no {name!r}{meant}")


def _counted_tenants(config: FanfuseConfig) -> Iterator[Finding]:
    """A misspelt tenant would keep the general ceiling, and be counted as `other`, in silence."""
    tenants = sorted(_tenants(config))
    classes = config.metrics.tenant_classes.items()
    named: list[tuple[KeyPath, str]] = [
        *((("metrics", "tenant_classes", cls, at), name) for cls, names in classes for at, name in enumerate(names)),
        *((("pressure", "tenants", name), name) for name in config.pressure.tenants),
    ]
    for path, name in named if tenants else ():
        if name not in tenants:
            yield _warning(path, _no_tenant(name, tenants))
