VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

# one process per core; COVERAGE=1 also measures which lines are covered
IN_PARALLEL := -m pytest -n logical --maxprocesses 4 --dist worksteal --durations=25
PYTEST := $(BIN)/python $(IN_PARALLEL)

.PHONY: run example test test-slow test-all test-floor test-newest test-core check audit check-wheel \
	setup clean

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

# other versions, each in an environment of its own: the oldest that pyproject.toml allows, the newest
# that there are, and the package without its optional parts; TESTS="tests/nn tests/data" runs some
ENVS ?= .envs
OLDEST_PYTHON ?= python3.11
NEWEST_PYTHON ?= python3.13
TESTS ?= tests
# onnx needs a later torch than the rest: `make test` has it
FLOOR_PARTS := test,pictures,tables,serve
OTHER_VERSIONS := $(IN_PARALLEL) -m "not slow" -rs $(TESTS)

test-floor:
	$(OLDEST_PYTHON) -m venv $(ENVS)/floor
	$(ENVS)/floor/bin/python .ci/floors.py $(FLOOR_PARTS) > $(ENVS)/floor.txt
	$(ENVS)/floor/bin/pip install --quiet -c $(ENVS)/floor.txt -e ".[$(FLOOR_PARTS)]"
	$(ENVS)/floor/bin/python $(OTHER_VERSIONS)

test-newest:
	$(NEWEST_PYTHON) -m venv $(ENVS)/newest
	$(ENVS)/newest/bin/pip install --quiet --upgrade --upgrade-strategy eager -e ".[dev]"
	$(ENVS)/newest/bin/python $(OTHER_VERSIONS)

test-core:
	$(PYTHON) -m venv $(ENVS)/core
	$(ENVS)/core/bin/pip install --quiet -c constraints.txt -e ".[test]"
	$(ENVS)/core/bin/python $(OTHER_VERSIONS)

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

# builds both archives, checks them, and takes the README's tour with the wheel in a new environment
check-wheel: $(VENV)/.installed-dev
	.ci/check-wheel $(BIN)/python

setup: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[pictures]"
	touch $@

$(VENV)/.installed-tables: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[pictures,tables]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.installed $(VENV)/.installed-tables

clean:
	rm -rf $(VENV) $(ENVS) build dist runs site .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
