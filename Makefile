# Each target sets up its own .venv; a machine needs Python 3.11 or newer with pip and venv, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.demo ## from the confidential register to a published table, its proof and its report
	$(BIN)/discreet demo --out demo-output

test: $(VENV)/.test lint ## lint, types and all tests
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test ## the benchmarks; python -m benchmarks.peers.run compares with other tools
	$(BIN)/python -m benchmarks.run

docs: $(VENV)/.test ## the method pages from the code, then the site, offline
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --clean

$(VENV)/.demo: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[report]'
	touch $@

$(VENV)/.test: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[all,test]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo-output site
