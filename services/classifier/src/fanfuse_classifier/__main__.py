"""Run the classifier alone."""

from fanfuse_classifier.service import build
from fanfuse_runtime.process import main

main(build)
