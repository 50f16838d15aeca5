# `make docs` and `make test` each work as the first command on a machine that
# has Python 3.11 or newer, git and make.  Another Python: make PYTHON=... docs
# This file makes .venv and calls nox; what each target does is in noxfile.py.

ifndef PYTHON
PYTHON := $(or $(shell \
    for python in python3 python3.14 python3.13 python3.12 python3.11; do \
        $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
            && { echo $$python; break; }; \
    done),python3)
endif

VENV := .venv
BIN := $(VENV)/bin
NOX := $(BIN)/python -m nox
# uv takes a third of pip's time, but does not read pip's configuration: where it finds no
# packages, pip installs them.
UV = { $(BIN)/python -m pip install --quiet --disable-pip-version-check uv && \
    $(BIN)/python -m uv pip install --quiet --compile-bytecode --python $(BIN)/python \
    --editable '.[$*,nox]'; } 2>/dev/null

.DELETE_ON_ERROR:
.PHONY: help docs test oracle faults benchmarks lint picture clean distclean

help:
	@echo 'make docs       build the documentation with this extension'
	@echo 'make test       run every test on the oldest, this and the newest JAX (ARGS="-s main")'
	@echo 'make oracle     check what the language says against jaxpr objects, at length (ARGS="--seed 2")'
	@echo 'make benchmarks measure builds beside pasted text and a script (ARGS="cold warm")'
	@echo 'make faults     put real builds through kills, full disks, forged files (ARGS="--long")'
	@echo 'make lint       ruff and mypy'
	@echo 'make picture    take the pictures of the readme from the lesson (needs Chromium)'
	@echo 'make clean      remove what was built'
	@echo 'make distclean  remove the environments too'

# .venv, with this project, an extra and nox.  An environment that is incomplete,
# or whose Python is gone, is recreated.
$(VENV)/.stamp-%: pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	    $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	        echo "sphinx-jaxpr needs Python 3.11 or newer, and '$(PYTHON)' is" \
	            "$$($(PYTHON) --version 2>&1 || true)." >&2; \
	        echo 'Name another one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; \
	        exit 1; \
	    }; \
	    $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	        echo "'$(PYTHON)' cannot create environments: its venv module has no pip." >&2; \
	        echo 'On Debian and Ubuntu: apt install python3-venv' >&2; \
	        echo 'Or name another Python: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; \
	        exit 1; \
	    }; \
	    echo "Making $(VENV) with $$($(PYTHON) --version)"; \
	    $(PYTHON) -m venv --clear $(VENV); \
	}
	@echo "Installing sphinx-jaxpr[$*] into $(VENV)"
	@$(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*,nox]'
	@touch $@

docs: $(VENV)/.stamp-docs
	@$(NOX) -s docs

test: $(VENV)/.stamp-dev
	@$(NOX) $(ARGS)

oracle faults benchmarks: $(VENV)/.stamp-dev
	@$(NOX) -s $@ -- $(ARGS)

lint picture: $(VENV)/.stamp-dev
	@$(NOX) -s $@

clean:
	rm -rf docs/_build build dist .mypy_cache .pytest_cache .ruff_cache

distclean: clean
	rm -rf $(VENV) .venvs
