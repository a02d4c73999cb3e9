"""``python -m kernelwright.judge.checks``: the registry as a page, docs/judge/checks.md."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.judge.checks.check import Check
from kernelwright.judge.checks.registry import FAMILIES

INTRODUCTION = """\
# The judge's checks

<!-- Made by `python -m kernelwright.judge.checks > docs/judge/checks.md`; do not edit. -->

A candidate is called on each of these inputs, in this order, and its results are compared with
float64. The first difference refuses it, except where a difference is only a warning. A check that
does not apply to a task, or under which the reference itself has no finite answer, is left out.
During and after the timed rounds checks are drawn at random and made again, on inputs that no call
has had.

Every call is also checked for what it does beside its results: it writes to no input that the
reference leaves alone, its outputs share no memory with those that the caller still holds, and
outputs that are held stay as they were. Calls on the same inputs are repeated, to see whether
results differ by more than rounding.

The last column names cheats of the zoo that no other check refuses by results.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([INTRODUCTION, *_families()])


def _families() -> Iterator[str]:
    for name, checks in FAMILIES.items():
        yield f"## {name}\n"
        yield "| check | refuses a candidate that … | a difference is | only by it |"
        yield "|---|---|---|---|"
        yield from map(_row, checks)
        yield ""


def _row(check: Check) -> str:
    outcome = "a refusal" if check.policy is None else "a warning, as a rule"
    cases = ", ".join(f"`{name}`" for name in check.zoo)
    return f"| `{check.id}` | {check.why} | {outcome} | {cases} |"


if __name__ == "__main__":
    print(page(), end="")
