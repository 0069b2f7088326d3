"""Resources of NACK: valid, complete; what the operator makes of them is what every service compares with contracts."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import nats
import pytest
import yaml
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import api

from fanfuse_all_in_one.deploying.nack import API_VERSION, render_nack
from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant
from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key
from fanfuse_contracts import permissions, streams
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import Creates
from fanfuse_runtime.setup import Rights, ensure_consumer, ensure_topology
from tests.deploy.crds import strict_schema
from tests.deploy.rendered import K8S, Objects, fanfuse, objects, prepare
from tests.deploy.restricted import POOLS

NOTHING = Rights(Creates.NOTHING)
POOL_CONSUMERS = [streams.pool_consumer(kind, pool) for kind, pool in POOLS]


def resources(replicas: int = 1) -> Objects:
    return list(yaml.safe_load_all(render_nack(POOLS, replicas)))


@pytest.fixture
def with_nack(tmp_path: Path) -> Objects:
    """The overlay `prod` as deploy/README.md changes it for NACK."""
    root = prepare(tmp_path)
    prod = root / "overlays" / "prod"
    (prod / "streams.yaml").write_text(fanfuse(prod, "deploy", "nack", "--file", "fanfuse.yaml"))
    stated = yaml.safe_load((prod / "kustomization.yaml").read_text())
    stated["resources"].append("streams.yaml")
    stated["components"].append("../../components/nack")
    (prod / "kustomization.yaml").write_text(yaml.safe_dump(stated))
    return objects(root, "prod")


def test_the_component_replaces_the_job_by_resources_of_contracts(with_nack: Objects, shared: Path) -> None:
    """Names come from contracts, so a rename there changes what is made here."""
    assert not [each for each in with_nack if each["metadata"]["name"] == "setup"]
    own = [each for each in with_nack if each["apiVersion"] == API_VERSION]
    for each in own:
        jsonschema.validate(each, strict_schema(shared / "k8s-schemas/nack.yaml", API_VERSION, each["kind"]))
    named = {(each["kind"], each["spec"].get("durableName") or each["spec"].get("bucket") or each["spec"]["name"])
             for each in own}  # fmt: skip
    assert named == {
        ("Account", "fanfuse"),
        *(("Stream", spec.name) for spec in streams.STREAMS),
        *(("KeyValue", spec.name) for spec in streams.BUCKETS),
        *(("Consumer", spec.durable) for spec in (*streams.CONSUMERS, *POOL_CONSUMERS)),
    }
    assert {each["spec"]["replicas"] for each in own if each["kind"] in ("Stream", "KeyValue")} == {3}
    broken = copy.deepcopy(next(each for each in own if each["kind"] == "Stream"))
    broken["spec"]["maxMessages"] = 3
    with pytest.raises(jsonschema.ValidationError, match="maxMessages"):
        jsonschema.validate(broken, strict_schema(shared / "k8s-schemas/nack.yaml", API_VERSION, "Stream"))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[NatsServer]:
    """A server with the users of `fanfuse deploy keys --nack`."""
    users = UsersFile()
    for user in (*(one.user for one in permissions.of_everyone(POOLS, ())), permissions.NACK):
        users = users.with_service(user, new_key(tmp_path / f"{user}.nk"))
    (tmp_path / "users.conf").write_text(render_account_per_tenant(users, POOLS))
    (tmp_path / "nats.conf").write_text("include ./users.conf\n")
    with NatsServer(tmp_path / "nats", config=tmp_path / "nats.conf") as server:
        yield server


async def test_what_nack_makes_of_them_is_what_services_expect(guarded: NatsServer, tmp_path: Path) -> None:
    """By a user who may do that, over plain inboxes as NACK's client has them, and nothing else."""
    client = await nats.connect(guarded.url, nkeys_seed=str(tmp_path / "NACK.nk"))
    for each in resources():
        await made(client, each)
    services = await nats.connect(guarded.url, nkeys_seed=str(tmp_path / "SETUP.nk"), inbox_prefix=b"_INBOX_SETUP")
    js = services.jetstream()
    await ensure_topology(js, NOTHING)
    for spec in POOL_CONSUMERS:
        await ensure_consumer(js, spec, NOTHING)
    for refused in ("STREAM.DELETE.QUERIES", "STREAM.PURGE.ANSWERS", "STREAM.MSG.GET.ANSWERS"):
        with pytest.raises(NatsError):
            await client.request(f"$JS.API.{refused}", b"", timeout=0.3)
    await client.close()
    await services.close()


async def made(client: Client, resource: dict[str, Any]) -> None:
    """What NACK's controllers ask of the server for a resource (internal/controller of nats-io/nack)."""
    spec = resource["spec"]
    js = client.jetstream()
    match resource["kind"]:
        case "Stream":
            await js.add_stream(stream_of(spec))
        case "KeyValue":
            await js.create_key_value(bucket=spec["bucket"], history=spec["history"], max_bytes=spec["maxBytes"],
                                      storage=api.StorageType(spec["storage"]), direct=True)  # fmt: skip
        case "Consumer":
            await js.add_consumer(spec["streamName"], consumer_of(spec))


def stream_of(spec: dict[str, Any]) -> api.StreamConfig:
    republish = spec.get("republish")
    return api.StreamConfig(
        name=spec["name"],
        subjects=spec["subjects"],
        retention=api.RetentionPolicy(spec["retention"]),
        storage=api.StorageType(spec["storage"]),
        discard=api.DiscardPolicy(spec["discard"]),
        discard_new_per_subject=spec["discardPerSubject"],
        max_msgs=spec["maxMsgs"],
        max_bytes=spec["maxBytes"],
        max_msgs_per_subject=spec["maxMsgsPerSubject"],
        max_age=seconds(spec.get("maxAge", "0ms")),
        duplicate_window=seconds(spec["duplicateWindow"]),
        allow_direct=spec["allowDirect"],
        republish=api.RePublish(src=republish["source"], dest=republish["destination"]) if republish else None,
        num_replicas=spec["replicas"],
    )


def consumer_of(spec: dict[str, Any]) -> api.ConsumerConfig:
    return api.ConsumerConfig(
        durable_name=spec["durableName"],
        filter_subject=spec["filterSubject"],
        deliver_policy=api.DeliverPolicy(spec["deliverPolicy"]),
        ack_policy=api.AckPolicy(spec["ackPolicy"]),
        ack_wait=seconds(spec["ackWait"]),
        max_deliver=spec["maxDeliver"],
        max_ack_pending=spec["maxAckPending"],
        max_waiting=spec["maxWaiting"],
    )


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)ms", duration)
    assert found, duration
    return int(found[1]) / 1e3


def test_the_account_is_the_user_and_the_secrets_of_the_readme() -> None:
    account = yaml.safe_load((K8S / "components/nack/account.yaml").read_text())
    assert account["spec"]["nkey"]["secret"]["name"] == f"nats-{permissions.NACK.lower()}"
    assert account["metadata"]["name"] == resources()[0]["spec"]["account"]
