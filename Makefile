# The two commands of the README are `make optimize` and `make test`; both may be run again.

PYTHON ?= python3
TASK ?= examples/rms_gate.py
BUDGET ?= 90s
BIN := .venv/bin
# Tests that take no times; the others run one at a time, because they do.
UNTIMED := tests/null tests/snapshots $(addprefix tests/host/,compose emit emit_gpu port propose)

.PHONY: optimize test zoo lint clean

optimize: .venv/installed
	$(BIN)/kernelwright optimize $(TASK) --budget $(BUDGET)

test: .venv/installed-test lint
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 $(UNTIMED)
	$(BIN)/python -m pytest -q tests/host tests/device $(addprefix --ignore=,$(UNTIMED))

zoo: .venv/installed-test
	$(BIN)/python -m kernelwright.testing.zoo zoo

lint: .venv/installed-test
	$(BIN)/ruff check src tests benchmarks examples zoo docs
	$(BIN)/ruff format --check src tests benchmarks zoo docs/generate.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kernelwright needs Python 3.11 or newer; set PYTHON=python3.11" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

.venv/installed-test: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test,triton,port,data,swarm,train]'
	touch $@

clean:
	rm -rf .venv kernelwright-out
