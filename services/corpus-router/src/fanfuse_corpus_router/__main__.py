"""Run the corpus router as a process of its own."""

from fanfuse_corpus_router.service import build
from fanfuse_runtime.process import main

if __name__ == "__main__":
    main(build)
