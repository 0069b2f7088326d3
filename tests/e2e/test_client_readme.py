"""The example in the client's README runs as it stands."""

import json
import re


async def test_the_example_runs(running, acme_docs, repository, capsys):
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "readme", "--public")
    text = (repository / "client/README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope: dict = {"__name__": "readme"}
    exec(compile(example, "client/README.md", "exec"), scope)

    await scope["main"](json.loads((running.data / "bus.json").read_text())["url"])
    said = capsys.readouterr().out

    assert said.startswith("complete [('readme', 'Annual leave', ")
    assert "q-1 complete" in said
    assert "q-2 complete" in said
    assert "top_k: Input should be less than or equal to 100 False" in said
