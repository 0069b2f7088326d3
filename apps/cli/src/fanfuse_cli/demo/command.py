"""The command: a bus of its own, the scene on it, and the play; nothing runs any more when it returns."""

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from fanfuse_cli.console import results
from fanfuse_cli.failures import FAILED, plainly, stop
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import DEFAULT_DATA

Collection = Annotated[
    Path | None,
    typer.Option("--data", help="A collection in BEIR form, not this machine's own text.", exists=True),
]
Vectors = Annotated[Path | None, typer.Option(help="Precomputed vectors (.npz) of the collection.", exists=True)]
Keep = Annotated[bool, typer.Option("--keep", help="Leave everything running until Ctrl-C, to try it.")]


@plainly
def demo(data: Collection = None, vectors: Vectors = None, keep: Keep = False) -> None:
    """Show real queries over real text, an outage and its end; exits 1 when a step is not as it should be."""
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.judged_collection import CollectionError
    from fanfuse_cli.demo.checks import DemoFailed
    from fanfuse_runtime.logs import configure_logs

    if vectors is not None and data is None:
        raise typer.BadParameter("--vectors needs --data")
    configure_logs("error")
    home = Path(os.environ.get("FANFUSE_DATA_DIR") or DEFAULT_DATA) / "demo"
    started = time.monotonic()
    try:
        with data_bus(home, None, announce=True) as bus:
            if bus.server is None:
                stop(f"a demonstration already runs on {home}: end it first", FAILED)
            run_until_signal(_play(home, bus.url, data, vectors, keep))
    except (DemoFailed, CollectionError) as error:
        stop(f"the demonstration failed: {error}", FAILED)
    results().print(f"\n[green]every step was as it should be[/] ({time.monotonic() - started:.0f} s)")


async def _play(home: Path, url: str, data: Path | None, vectors: Path | None, keep: bool) -> None:
    from fanfuse_cli.demo import collection, local
    from fanfuse_cli.demo.checks import check
    from fanfuse_cli.demo.scene import scene_on

    console = results()
    console.print(f"bus {url}, data in {home}; vector workers in a process of their own, the rest in this one")
    tenants = local.TENANTS if data is None else collection.TENANTS
    async with scene_on(console, home, url, tenants) as scene:
        lost_before = await scene.dead_letters()
        if data is None:
            await local.play_local(scene)
        else:
            await collection.play_collection(scene, data, vectors)
        check(await scene.dead_letters() == lost_before, "a message was dead-lettered")
        if keep:
            console.print(
                f"\neverything was as it should be and still runs: fanfuse ask … --data {home}; Ctrl-C ends it"
            )
            await asyncio.Event().wait()
