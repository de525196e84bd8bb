# Every target does its own set-up in .venv, from nothing but Python and make.
# Portable to GNU Make 3.81, which macOS ships.

PYTHON ?= python3
LAB_ARGS ?=
PYTEST_ARGS ?=
JOBS ?= 3
BENCH_ARGS ?=

SHELL := bash
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Paths are relative, so that the path to the checkout may hold spaces.
VENV := .venv
STAMPS := $(VENV)/stamps
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --retries 10
NPM := $(PY) .build/frontend.py
NPM_STAMP := js/node_modules/.installed
BUNDLE := agent_widget/static/widget.js
JS_SOURCES := $(shell find js -name node_modules -prune -o -type f \
	\( -path 'js/src/*' -o -path 'js/*.mjs' -o -path 'js/*.json' \) -print 2>/dev/null)
ROOT_ARGS = $(shell [ "$$(id -u)" != 0 ] || echo --allow-root)

.PHONY: help lab ready test thorough test-llama lint format bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  PYTHON=python3.12   the Python to make .venv with (3.11 or later)'
	@echo '  LAB_ARGS=...        further arguments of JupyterLab'
	@echo '  PYTEST_ARGS=...     further arguments of pytest, e.g. PYTEST_ARGS="-m '"'not slow'"'"'
	@echo '  JOBS=3              how many tests run at a time'
	@echo '  BENCH_ARGS=...      arguments of the benchmarks'

lab: $(STAMPS)/lab $(BUNDLE) ## Open the quickstart notebook in JupyterLab; no key needed
	$(PY) -m jupyterlab $(ROOT_ARGS) $(LAB_ARGS) notebooks/01_quickstart.ipynb

ready: $(STAMPS)/dev $(STAMPS)/ipykernel6 $(NPM_STAMP) $(BUNDLE) ## Install and build what lint and test need

# Both halves run, whatever the other one says, and at the same time, as both mostly wait. What the
# front end's half says comes when it has ended, and once more at the end if it failed.
test: $(STAMPS)/test $(STAMPS)/ipykernel6 $(NPM_STAMP) $(BUNDLE) ## Run every test: Python, notebooks, front end, browser
	@chromium="$$($(PY) tests/support/chromium.py)" || exit 1; \
	if [ -n "$$chromium" ]; then export AGENT_WIDGET_CHROMIUM="$$chromium"; fi; \
	log="$$(mktemp)"; trap 'rm -f "$$log"' EXIT; \
	{ $(NPM) run test >"$$log" 2>&1; js=$$?; cat "$$log"; exit $$js; } & \
	$(PY) -m pytest -n $(JOBS) --no-loadscope-reorder $(PYTEST_ARGS); py=$$?; \
	wait $$!; js=$$?; \
	if [ $$js != 0 ]; then tail -n 60 "$$log" >&2; echo 'make test: the tests of the front end failed' >&2; fi; \
	[ $$js = 0 ] && [ $$py = 0 ]

thorough: ## Run every test with more rounds and in both hosts; takes much longer
	AGENT_WIDGET_THOROUGH=1 $(MAKE) test

# LLAMA_URL=http://localhost:8080/v1 of a server that is running, or LLAMA_MODEL=some.gguf to run
# llama-server (on the PATH) with; without either the tests are skipped.
test-llama: $(STAMPS)/test ## Run the tests against llama.cpp's server, when there is one
	$(PY) -m pytest tests/providers/test_llama.py -rs $(PYTEST_ARGS)

# Each check runs, whatever the ones before it said.
lint: $(STAMPS)/dev $(NPM_STAMP) ## Check style, types and import contracts
	@failed=; check() { echo "+ $$*"; "$$@" || failed=1; }; \
	check $(PY) -m ruff check; \
	check $(PY) -m ruff format --check; \
	check $(PY) -m mypy; \
	check $(VENV)/bin/lint-imports; \
	check $(NPM) run check; \
	[ -z "$$failed" ]

format: $(STAMPS)/dev ## Format the Python code and mend what can be mended
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

bench: .venv-bench/.installed $(BUNDLE) ## Measure this package next to its peers
	.venv-bench/bin/python -m tests.bench $(BENCH_ARGS)

clean: ## Remove all that was installed, built or written by runs
	rm -rf .venv .venv-bench js/node_modules agent_widget/static dist build
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up: a stamp for each step, newer than all that the step depends on ------------------------

define NEEDS_PYTHON
agent_widget needs Python 3.11 or later, and `$(PYTHON)` is not. Name one: make PYTHON=python3.12 ...
endef

$(STAMPS)/venv: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo '$(NEEDS_PYTHON)' >&2; exit 1; }
	@[ -x $(PY) ] || { echo 'Making $(VENV) ...'; $(PYTHON) -m venv $(VENV); }
	@$(INSTALL) --upgrade 'pip>=25.1'
	@$(INSTALL) --group frontend
	@mkdir -p $(STAMPS) && touch $@

# The steps that use pip follow each other, also under make -j.
$(STAMPS)/lab: $(STAMPS)/venv .build/hatch_build.py | $(BUNDLE)
	@echo 'Installing agent_widget and JupyterLab ...'
	@$(INSTALL) --editable '.[lab]'
	@touch $@

$(STAMPS)/test: $(STAMPS)/lab
	@echo 'Installing what the tests need ...'
	@$(INSTALL) --group test
	@touch $@

# Older kernels in a folder of their own: tests start one by putting the folder on PYTHONPATH.
$(STAMPS)/ipykernel6: $(STAMPS)/test
	@$(INSTALL) --upgrade --no-deps --target $(VENV)/ipykernel6 'ipykernel==6.31.*' 'nest-asyncio>=1.6'
	@touch $@

$(STAMPS)/dev: $(STAMPS)/test
	@echo 'Installing what the checks need ...'
	@$(INSTALL) --group dev
	@touch $@

$(NPM_STAMP): js/package.json $(wildcard js/package-lock.json) $(STAMPS)/venv
	@echo 'Installing what the front end needs ...'
	@$(NPM) install
	@touch $@

$(BUNDLE): $(JS_SOURCES) $(NPM_STAMP)
	@$(NPM) run build
	@touch $@

.venv-bench/.installed: tests/bench/requirements.txt pyproject.toml | $(BUNDLE)
	@echo 'Installing the peers ...'
	@[ -x .venv-bench/bin/python ] || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --retries 10 --editable . -r tests/bench/requirements.txt
	@touch $@
