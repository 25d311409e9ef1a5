# Set-up needs Python 3.11 and make. All it writes is in this folder, uv's download cache apart.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_VERSION := 0.13.8

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
VENV_READY := $(VENV)/.ready
PACKAGES_READY := $(VENV)/.packages-ready
# Tests wait for Spark more than they compute; those of one file share a world, and stay together.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-worlds test-slow test-scheduler test-cluster test-faults lint audit format up down lock vendor clean
MAKEFLAGS += --no-builtin-rules --no-print-directory

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(PACKAGES_READY)  ## install everything into .venv and .cache; a second time nothing is left to do
	@$(BIN)/python -m panelake.spark.toolchain

demo: setup  ## the example world end to end, through Airflow's own DAG
	@$(BIN)/panelake demo

test: setup lint  ## lint, types and all tests
	@$(BIN)/pytest $(SIDE_BY_SIDE)

test-worlds: setup  ## many more random worlds than `make test` checks, against brute force
	@PANELAKE_WORLDS=5000 PANELAKE_PIPELINES=200 PANELAKE_CUTS=288 $(BIN)/pytest -m "slow or not slow" tests/exactness

test-slow: setup  ## maintenance, forgetting, cuts of a day and crashes, each over many slices
	@$(BIN)/pytest -m slow

test-scheduler: setup  ## schedules and backfills under Airflow's own scheduler, for many minutes
	@$(BIN)/pytest -m scheduler tests/dags

test-cluster: setup  ## a Spark cluster on this machine's loopback answers what one process answers
	@$(BIN)/pytest -m cluster

test-faults: setup  ## break the pipeline on purpose, none begun after twelve minutes; prints trials, faults and losses
	@$(BIN)/pytest -m faults tests/faults

lint: $(PACKAGES_READY)  ## lint, format check and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

audit: $(PACKAGES_READY)  ## ask the public database of vulnerabilities about every pinned package
	@$(UV) tool run --quiet pip-audit==2.10.1 --strict --disable-pip --no-deps --requirement requirements.lock

format: $(PACKAGES_READY)  ## format the code and mend what can be mended
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

up: setup  ## start Airflow and the Spark server on this machine (PORT=8080)
	@$(BIN)/python -m panelake.orchestration.standalone up $(if $(PORT),--port $(PORT))

down:  ## stop what `make up` started
	@$(BIN)/python -m panelake.orchestration.standalone down

lock: $(VENV_READY)  ## pin all packages anew in requirements.lock
	@$(UV) pip compile pyproject.toml --extra dev --python-version 3.11 --no-header --no-annotate -o requirements.lock

vendor: setup  ## fetch the report's chart library anew from its packages, by npm, and compare it with its checksums
	@$(BIN)/python -m panelake.report.vendored

clean:  ## stop the server; remove runtime files and caches; .venv and tables stay
	@if [ -e .cache/airflow/standalone.json ]; then $(BIN)/python -m panelake.orchestration.standalone down; fi
	@if [ -e .cache/server.json ]; then $(BIN)/panelake server stop; fi
	@rm -rf .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis

# `.unfinished` stays behind when a step is interrupted: what it half wrote is then made anew.

$(VENV_READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 is needed, '$(PYTHON)' is $$($(PYTHON) --version 2>&1): make setup PYTHON=/path/to/python3.11" >&2; exit 2; }
	@if [ -e $(VENV)/.unfinished ]; then rm -rf $(VENV); fi
	@mkdir -p $(VENV) && touch $(VENV)/.unfinished
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@rm $(VENV)/.unfinished && touch $@

$(PACKAGES_READY): $(VENV_READY) requirements.lock pyproject.toml
	@echo "installing packages"
	@again=$$(test -e $(VENV)/.unfinished && echo --reinstall); touch $(VENV)/.unfinished; \
	  $(UV) pip install --quiet --python $(BIN)/python $$again -r requirements.lock && \
	  $(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	@rm $(VENV)/.unfinished && touch $@
