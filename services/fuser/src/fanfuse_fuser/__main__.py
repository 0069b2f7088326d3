"""The fuser as a process of its own."""

from fanfuse_fuser.service import build
from fanfuse_runtime.process import main

main(build)
