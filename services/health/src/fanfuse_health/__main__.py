"""`python -m fanfuse_health`: this service as a process of its own."""

from fanfuse_health.service import build
from fanfuse_runtime.process import main

main(build)
