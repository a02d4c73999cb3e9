"""The registry of checks: each row says why it exists, and the page made from it is up to date."""

from pathlib import Path

import pytest

from kernelwright.judge.checks.__main__ import page
from kernelwright.judge.checks.registry import CHECKS, REGISTRY
from kernelwright.testing.zoo.cases import cases

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "judge" / "checks.md"
ZOO = cases(ROOT / "zoo")


def test_the_page_of_checks_is_up_to_date():
    """Else: ``python -m kernelwright.judge.checks > docs/judge/checks.md``."""
    assert PAGE.read_text() == page()


def test_no_two_checks_have_one_name():
    assert len(CHECKS) == len(REGISTRY)


@pytest.mark.parametrize("check", REGISTRY, ids=CHECKS)
def test_a_check_says_what_it_refuses_and_names_cheats_that_exist(check):
    assert check.why and not check.why.endswith(".")
    assert set(check.zoo) <= {case.name for case in ZOO if case.is_cheat}
