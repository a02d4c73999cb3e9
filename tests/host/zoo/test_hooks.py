"""Cheats that reach into the judge's own code find what they look for.

One that found nothing would be refused for its error and test nothing: whoever renames these names
in the judge renames them in the zoo as well.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re

import pytest

from kernelwright.testing.zoo import cases

TEXTS = {case.name: case.candidate.source for case in cases() if case.is_cheat}
MODULES = {
    name for text in TEXTS.values() for name in re.findall(r'"(kernelwright\.[\w.]+)"', text)
}
WORKER = "kernelwright.judge.sandbox.worker"
REPLACED = ("describe", "Worker.copy", "Worker.answer", "Worker.release")
READ = ("arguments", "completion", "signals_first", "sock")


def test_the_modules_that_cheats_name_exist():
    assert WORKER in MODULES
    for name in MODULES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", REPLACED)
def test_the_functions_that_cheats_replace_exist(name):
    assert any(f".{name.rpartition('.')[2]} = " in text for text in TEXTS.values())
    assert callable(operator.attrgetter(name)(importlib.import_module(WORKER)))


@pytest.mark.parametrize("name", READ)
def test_the_attributes_of_a_worker_that_cheats_read_exist(name):
    assert any(re.search(rf'\.{name}\b|"{name}"', text) for text in TEXTS.values())
    assert f"self.{name}" in inspect.getsource(importlib.import_module(WORKER))
