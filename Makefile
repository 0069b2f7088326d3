# People and CI call the same targets. Needs python3.11, make and git; installs everything else into this folder.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_VERSION := 0.13.9
UV := .uv-venv/bin/uv
BIN := .venv/bin
CHECKOV_VERSION := 3.3.30
CHECKOV := .checkov/bin/checkov
STAMP := .venv/.installed
MANIFESTS := pyproject.toml uv.lock $(wildcard */pyproject.toml services/*/pyproject.toml apps/*/pyproject.toml)
DOCS := apps/all-in-one/src/fanfuse_all_in_one/docs.py
BENCH := bench/run.py
IMAGES := classifier corpus-router backend-workers fuser health cli
IMAGE_TARGETS := $(addprefix image-,$(IMAGES))
ENGINE ?= docker
BASE ?= python:3.11.14-slim-bookworm
# podman builds OCI images otherwise, which know no SHELL.
export BUILDAH_FORMAT ?= docker
REGISTRY ?=
TAG ?= 0.1.0
# One file more than cores at a time, since tests also wait; files in the order of the folders, so that the many short
# ones of `unit` fill up the end.
PYTEST_ARGS ?= -n 3 --dist loadfile --no-loadscope-reorder
TESTS ?= not (engine or slow or nightly)
ENGINE_ARGS ?=
# The test modules load more native libraries than the thread-local data of one more has room beside.
ROOM_FOR_LIBRARIES := glibc.rtld.optional_static_tls=2048

# An activated environment must not be the one that is changed.
unexport VIRTUAL_ENV
# Without bytecode every process of a test compiles 2,700 modules anew: 4 s of CPU instead of 1.5 s, for each.
unexport PYTHONDONTWRITEBYTECODE
export UV_PYTHON_DOWNLOADS := never
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif

.PHONY: help install demo test test-slow test-nightly test-engines test-engines-short services check image-check deploy-check deploy-check-nightly images lint types imports size docs-check format docs monitoring-check bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## create .venv with every member, extra and tool, as locked
	@:

demo: $(STAMP) ## index a sample corpus and ask it, with no engine installed
	@$(BIN)/fanfuse demo

test: $(STAMP) ## run the tests, three files at a time (PYTEST_ARGS="-k name" for some, one at a time)
	@$(BIN)/pytest -m "$(TESTS)" $(PYTEST_ARGS)
	@echo "ran: $(TESTS); the others: make test-slow, make test-nightly, make test-engines"

test-slow: $(STAMP) ## run what takes long: load, outages, ranking quality on judged collections
	@$(BIN)/pytest -m "slow and not (engine or nightly)" $(PYTEST_ARGS)

test-nightly: $(STAMP) ## run what takes minutes each: alerts on a real Prometheus, a long outage, planted secrets
	@$(BIN)/pytest -m nightly -rs

test-engines: $(STAMP) ## run the tests on real OpenSearch, Neo4j and ArcadeDB servers (Java and Maven; no Docker)
	@GLIBC_TUNABLES=$(ROOM_FOR_LIBRARIES) $(BIN)/pytest -m engine -rs $(ENGINE_ARGS)

test-engines-short: $(STAMP) ## of those, how one OpenSearch and one Neo4j behave (CI runs it where Maven is reachable)
	@$(BIN)/pytest -m engine -rs -q tests/backends/test_opensearch.py tests/backends/test_neo4j_server.py -k "not 2.19 and not 2026"

services: $(STAMP) ## run real engine servers until Ctrl-C (Docker Compose, else Java) and print what points at them
	@$(BIN)/python -m tests.servers.services

monitoring-check: $(STAMP) ## check dashboards, rules and runbooks; what it needs is fetched once, or left out with a word
	@$(BIN)/pytest -rs -q tests/deploy/test_monitoring.py

check: lint types imports size docs-check ## everything but the tests; under a minute

lint: $(STAMP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports

size: $(STAMP)
	@$(BIN)/python tools/size_report.py

docs-check: $(STAMP)
ifneq ($(wildcard $(DOCS)),)
	@$(BIN)/python -m fanfuse_all_in_one.docs --check
endif

format: $(STAMP) ## sort imports, apply safe fixes, format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: $(STAMP) ## regenerate docs/flow.md, asyncapi.json and configuration.md
	@$(BIN)/python -m fanfuse_all_in_one.docs

bench: $(STAMP) ## measure (see bench/)
	@$(BIN)/python $(BENCH)

images: $(IMAGE_TARGETS) ## build every image (ENGINE=podman, BASE=a root file system with Python, REGISTRY=host/, TAG=)

# What of the lock goes in: the package of the service, with the registry's other store; the workers speak to every server
# and know every embedder; the commands do everything. Nothing that only tests need.
STORES := --package fanfuse-runtime --extra postgres
ENGINES := --package fanfuse-backend-workers --extra qdrant --extra elasticsearch --extra opensearch --extra neo4j --extra multilingual
SELECT = --package fanfuse-$* $(STORES)
image-backend-workers: SELECT = $(ENGINES) $(STORES)
image-cli: SELECT = --package fanfuse-cli --extra eval $(ENGINES) $(STORES)
$(IMAGE_TARGETS): image-%:
	@$(ENGINE) build -f deploy/docker/Dockerfile --build-arg BASE=$(BASE) --build-arg SERVICE=$* \
		--build-arg SELECT="$(SELECT)" -t $(REGISTRY)fanfuse/$*:$(TAG) .

image-check: $(STAMP) ## run every image as its manifest says (after `make images ENGINE=podman`; podman, root), and compose.yaml
	@$(BIN)/pytest -m nightly -rs -s tests/deploy/test_images_run.py tests/deploy/test_compose_run.py

deploy-check: $(STAMP) ## check everything under deploy/ that needs no cluster: schemas, names, users, rules, images
	@$(BIN)/pytest tests/deploy -m "not slow and not engine and not nightly" -rs $(PYTEST_ARGS)

deploy-check-nightly: $(STAMP) $(CHECKOV) ## the same, and what checkov finds (installs it into .checkov, some minutes)
	@$(BIN)/pytest tests/deploy -m "not slow and not engine" -rs $(PYTEST_ARGS)

$(CHECKOV):
	@$(PYTHON) -m venv .checkov
	@.checkov/bin/pip install --quiet checkov==$(CHECKOV_VERSION)

clean: ## remove environments and caches; .fanfuse data stays
	@rm -rf .venv .uv-venv .checkov .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(UV):
	@$(PYTHON) -m venv .uv-venv
	@.uv-venv/bin/pip install --quiet uv==$(UV_VERSION)

# A lock names the public index. Where pip is told of another one, the same pins are taken from there.
$(STAMP): $(MANIFESTS) | $(UV)
ifdef PIP_INDEX_URL
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	@$(UV) export --quiet --frozen --all-packages --all-extras --no-hashes --output-file .uv-venv/requirements.txt
	@$(UV) pip sync --python .venv --default-index "$(PIP_INDEX_URL)" .uv-venv/requirements.txt
else
	@$(UV) sync --frozen --all-packages --all-extras --python $(PYTHON)
endif
	@touch $@
