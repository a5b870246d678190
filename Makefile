# Every target sets up what it needs; nothing is installed twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench docs fuzz clean

demo: $(STAMP)
	$(BIN)/fstmetrics demo

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP) $(VENV)/.docs
	$(BIN)/mkdocs build --strict

# for each format, and for references and symbol tables
SECONDS ?= 10
FORMATS ?=

fuzz: $(STAMP) $(VENV)/.fuzz
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(FORMATS)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

$(VENV)/.fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,fuzz]'
	touch $@

clean:
	rm -rf $(VENV) site build *.egg-info
