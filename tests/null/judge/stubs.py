"""Stand-ins for an oracle, for tests of what a verification does with its answers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kernelwright.judge.checks import Draw


def oracle_like(
    *,
    expected: Callable[[Draw, Any], Any] = lambda draw, arguments: None,
    usual: Any = None,
    fixed_integers: tuple[bool, ...] = (),
    asks_for_zeros: bool = False,
) -> Any:
    """An oracle of a task with one output and without weights, whose answers are ``expected``."""
    results = SimpleNamespace(
        returned=[False], lent=[False], overlapping=frozenset(), changed=[False], ours=[False]
    )
    inputs = SimpleNamespace(
        fixed=SimpleNamespace(text=lambda: ""), fixed_integers=list(fixed_integers)
    )
    profile = SimpleNamespace(
        results=results,
        inputs=inputs,
        has_weights=False,
        asks_for_zeros=asks_for_zeros,
        asks_for_specials=False,
    )
    expectations = SimpleNamespace(of=expected, usual=usual, refusals=frozenset())
    return SimpleNamespace(
        secret=1,
        profile=profile,
        expectations=expectations,
        inputs=SimpleNamespace(kept=lambda draw: []),
        arguments=lambda draw: [],
    )
