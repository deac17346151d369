VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: run test check setup clean

run: $(VENV)/.installed
	$(BIN)/herofilter demo --out runs/demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered --cov-fail-under=90 --durations=25

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) runs .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
