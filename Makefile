# Needs python3 (3.11 or newer) and make. Everything else goes into .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST_ARGS ?=
JOBS   ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint unit properties lines branches page cluster docs bench clean

help:  ## show this list
	@sed -n 's/^\([a-z]*\): .*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(VENV)/.ready-report  ## the report of a bundled table: a page for the browser
	@$(BIN)/eigenlens demo

test: lint unit  ## everything that must hold: lint, types, rooms, tests

lint: $(VENV)/.ready-dev  ## ruff, codespell, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

# One thread of BLAS a process: the processes have the cores between them.
unit: $(VENV)/.ready-dev  ## the tests alone (PYTEST_ARGS="-k pca -x" for a part)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
	  --ignore=tests/test_cluster.py --ignore=tests/test_page.py $(PYTEST_ARGS)

properties: $(VENV)/.ready-dev  ## more than 50 000 tables that may break a fit: ten minutes or so
	OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n $(JOBS) \
	  --dist worksteal tests/test_properties.py $(PYTEST_ARGS)

lines: $(VENV)/.ready-dev  ## how many lines the tests reach, with compiled loops on
	COVERAGE_FILE=.coverage.lines $(MAKE) unit PYTEST_ARGS="--cov --cov-report= $(PYTEST_ARGS)"
	$(BIN)/python tools/reached.py lines .coverage.lines

# Loops in plain Python take a hundred times as long: they are plain on small arrays alone. What
# they give are numbers of numpy's rather than Python's, so that a test may fail.
branches: $(VENV)/.ready-dev  ## how many branches the tests reach, with loops in plain Python
	-PLAIN_LOOPS=1 COVERAGE_FILE=.coverage.branches \
	  $(MAKE) unit PYTEST_ARGS="--cov --cov-report= $(PYTEST_ARGS)"
	$(BIN)/python tools/reached.py branches .coverage.branches

page: $(VENV)/.ready-dev  ## the report page in Chromium, which make test leaves out
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/test_page.py

cluster: $(VENV)/.ready-dev  ## fits on a Dask cluster whose workers are killed, which make test leaves out
	$(BIN)/python -m pytest tests/test_cluster.py

docs: $(VENV)/.ready-docs  ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.ready-bench  ## ours against the peers, recorded: hours (NAME=pca for one, not recorded)
ifdef NAME
	$(BIN)/python -m benchmarks $(NAME)
else
	$(BIN)/python -m benchmarks all --missing --write
	$(BIN)/python -m tools.scoreboard --write
endif

clean:  ## remove what was built, but not .venv
	rm -rf build dist docs/_build docs/_generated .coverage htmlcov
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# One stamp for each set of extras; a change of pyproject.toml renews them.
# A .venv that is already there is used as it is.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "eigenlens needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-%: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) (a minute or two the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
