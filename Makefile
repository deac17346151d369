VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

# one process per core; COVERAGE=1 also measures which lines are covered
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal --durations=25

.PHONY: run example test test-slow test-all check audit setup clean

run: $(VENV)/.installed
	$(BIN)/herofilter demo --out runs/demo

AIRPORTS := --edges examples/airports/flights.csv --source origin --target destination --weight flights
example: $(VENV)/.installed-tables
	$(BIN)/herofilter fit $(AIRPORTS) --nodes examples/airports/airports.csv --label region \
		--features latitude,departures --budget 60s --out runs/airports
	$(BIN)/herofilter explain runs/airports --node ABE
	@echo "predictions of all airports: runs/airports/predictions.csv"

test: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow" $(if $(COVERAGE),--cov --cov-report=)

test-slow: $(VENV)/.installed-dev
	$(PYTEST) -m slow $(if $(COVERAGE),--cov --cov-append --cov-report=term:skip-covered --cov-fail-under=90)

test-all:
	$(MAKE) test COVERAGE=1
	$(MAKE) test-slow COVERAGE=1

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the site in site/; any warning is an error
.PHONY: docs
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# weaknesses that bandit finds, and licences of the dependencies
audit: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.audit

setup: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.installed-tables: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[tables]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.installed $(VENV)/.installed-tables

clean:
	rm -rf $(VENV) runs site .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
