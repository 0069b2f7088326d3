"""The libraries that Fanfuse is compared with, in an environment of their own that is kept between runs.

In: a folder, or none for one among the temporary files. Out: its Python. Fanfuse itself never depends on them.
"""

import hashlib
import os
import subprocess
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Final

from fanfuse_bench.runs import say

PEERS: Final = (
    "ranx==0.3.21",
    "langchain-classic==1.0.8",
    "langchain-core==1.8.3",
    "haystack-ai==3.4.1",
    "llama-index-core==0.14.25",
)


def peers_python(folder: Path | None) -> Path:
    """The interpreter that has the peers and us; what is not there is installed."""
    home = folder or _cached()
    python = home / "bin" / "python"
    if not python.exists():
        say(f"installing {', '.join(PEERS)} into {home}")
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
    # The peers' own packages come first, then those of this environment.
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (_site_of(python) / "zz_fanfuse.pth").write_text(ours, encoding="utf-8")
    return python


def _cached() -> Path:
    named = hashlib.sha256(" ".join(PEERS).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"fanfuse-bench-peers-{os.getuid()}-{named}"


def _site_of(python: Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())
