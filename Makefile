# `make docs` and `make test` each work as the first command on a machine that
# has Python 3.11 or newer, git and make.  Another Python: make PYTHON=... docs

ifndef PYTHON
PYTHON := $(or $(shell \
    for python in python3 python3.14 python3.13 python3.12 python3.11; do \
        $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
            && { echo $$python; break; }; \
    done),python3)
endif

VENV := .venv
BIN := $(VENV)/bin
HTML := docs/_build/html

.DELETE_ON_ERROR:
.PHONY: help docs test oracle faults lint picture clean distclean

help:
	@echo 'make docs       build the documentation with this extension'
	@echo 'make test       run every test on the oldest, this and the newest JAX (ARGS="--only main")'
	@echo 'make oracle     check what the language says against jaxpr objects, at length (ARGS="--seed 2")'
	@echo 'make faults     put real builds through kills, full disks, forged files (ARGS="--long")'
	@echo 'make lint       ruff and mypy'
	@echo 'make picture    take the pictures of the readme from the lesson (needs Chromium)'
	@echo 'make clean      remove what was built'
	@echo 'make distclean  remove the environments too'

# $(call environment,EXTRA): the environment, with this project and an extra.
# An environment that was left half made, or whose Python is gone, is made anew.
define environment
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	    $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	        echo "sphinx-jaxpr needs Python 3.11 or newer, and '$(PYTHON)' is" \
	            "$$($(PYTHON) --version 2>&1 || true)." >&2; \
	        echo 'Name another one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; \
	        exit 1; \
	    }; \
	    $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	        echo "'$(PYTHON)' can make no environments: its venv module has no pip." >&2; \
	        echo 'On Debian and Ubuntu: apt install python3-venv' >&2; \
	        echo 'Or name another Python: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; \
	        exit 1; \
	    }; \
	    echo "Making $(VENV) with $$($(PYTHON) --version)"; \
	    $(PYTHON) -m venv --clear $(VENV); \
	}
	@echo "Installing sphinx-jaxpr[$(1)] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(1)]'
	@touch $@
endef

$(VENV)/.stamp-docs: pyproject.toml
	$(call environment,docs)

$(VENV)/.stamp-dev: pyproject.toml
	$(call environment,dev)

docs: $(VENV)/.stamp-docs
	@$(BIN)/sphinx-build -W -n -j auto -b html docs $(HTML)
	@echo
	@echo 'Open $(HTML)/index.html'
	@echo 'The lesson: $(HTML)/lessons/transforms.html'

test: $(VENV)/.stamp-dev
	@$(BIN)/python tests/run.py $(ARGS)

oracle: $(VENV)/.stamp-dev
	@$(BIN)/python -m tests.oracle $(ARGS)

faults: $(VENV)/.stamp-dev
	@$(BIN)/python -m tests.faults $(ARGS)

lint: $(VENV)/.stamp-dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy

picture: $(VENV)/.stamp-dev docs
	@$(BIN)/python tools/picture.py $(HTML)

clean:
	rm -rf docs/_build build dist .mypy_cache .pytest_cache .ruff_cache

distclean: clean
	rm -rf $(VENV) .venvs
