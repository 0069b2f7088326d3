"""Runs the workers as a process of their own."""

from fanfuse_backend_workers.service import build
from fanfuse_runtime.process import main

main(build)
