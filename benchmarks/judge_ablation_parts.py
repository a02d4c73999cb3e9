"""Parts of the judge that ``judge_ablation.py`` switches off one at a time.

A part is a function with what stands in for it, or a constant with another value. Many modules
import them by name, so a switch replaces every reference in the judge's modules. Each switch says
of a call whether the part did anything ("fired"): it is switched off only on tasks where it fires.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.judge.sandbox.layout import leaves

JUDGE = "kernelwright.judge"


@dataclass(frozen=True)
class Part:
    """One switch: where the part is, what stands in for it, and when it counts as used."""

    where: str
    """Module below the judge's package, and name: ``inputs.patterns.is_symmetric``."""
    instead: Any
    """For a function: what is called in its place, with the same arguments; else the value."""
    fired: Callable[[Any, tuple[Any, ...]], bool] | None = None
    """Whether a call's result, given its arguments, shows that the part acted; None: always."""
    judged: str = "both"
    """Whose verdicts may change for the worse: 'honest' for an allowance, 'cheats' for a test."""

    @property
    def name(self) -> str:
        value = "" if callable(self.instead) else f"={self.instead}"
        return self.where.removeprefix("perturb.").removeprefix("compare.") + value


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def _first(*args: Any, **kwargs: Any) -> Any:
    return args[0]


def _second(*args: Any, **kwargs: Any) -> Any:
    return args[1]


def _fourth(*args: Any, **kwargs: Any) -> Any:
    return args[3]


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _is_true(found: Any, args: tuple[Any, ...]) -> bool:
    return bool(found) or (found == 0 and found is not False and found is not None)


def _differs(number: int) -> Callable[[Any, tuple[Any, ...]], bool]:
    """Whether the result is another than that argument."""

    def fired(found: Any, args: tuple[Any, ...]) -> bool:
        pairs = zip(leaves([found]), leaves([args[number]]), strict=True)
        return not all(torch.equal(a, b) for a, b in pairs)

    return fired


def _is_other(number: int) -> Callable[[Any, tuple[Any, ...]], bool]:
    return lambda found, args: found is not args[number]


def _run(run: Any, arguments: Any) -> Any:
    return run(arguments)


def _has_more(found: Any, args: tuple[Any, ...]) -> bool:
    return bool(found) and bool(torch.isnan(found[-1].float()).any())


PREDICATES = (
    *("in_order", "falls", "is_symmetric", "is_lower", "is_upper", "is_mask"),
    "has_other_form",
)
PARTS = (
    *(Part(f"perturb.patterns.{name}", _never, _is_true) for name in PREDICATES),
    Part("perturb.patterns.kept", _second, _differs(1)),
    Part("perturb.integers.has_distinct_rows", _never, _is_true),
    Part("perturb.integers.is_once", _never, _is_true),
    Part("perturb.integers._are_edges", _never, _is_true),
    Part("perturb.integers._is_scattered", lambda *a, **k: True, lambda found, args: not found),
    Part("perturb.weight_sets.constants", lambda *a, **k: frozenset(), _is_true),
    Part("perturb.buffers.with_other_buffers", _first, _is_other(0)),
    Part("perturb.buffers.randomise_buffers", _nothing, None, "cheats"),
    Part("compare.hidden.with_hidden", _run, _has_more),
    Part("compare.expected.useful_part", _first, None),
    Part("compare.allowances._jumped", lambda one, other, least: one < 0, None, "honest"),
    Part("compare.outputs._refuse_spread", _nothing, None, "cheats"),
    Part("compare.outputs._refuse_typical", _nothing, None, "cheats"),
    Part("compare.expected.FACTOR", 2.0, None, "honest"),
    Part("compare.expected.CONDITION_FACTOR", 8.0, None, "honest"),
    Part("compare.expected.SPREAD", 1.0, None, "honest"),
    Part("compare.expected.LOOSE_SHARE", 0.0, None, "honest"),
    Part("compare.outputs.LOOSE_ROWS", 0.0, None, "honest"),
    Part("compare.outputs.TYPICAL_FACTOR", 2.0, None, "honest"),
    Part("compare.growth.SUM_ULP", 12.0, None, "honest"),
    Part("compare.growth.MAX_BIASED_SUM", 768.0, None, "honest"),
    Part("compare.measures.SMALL_ROW", 1e-6, None, "honest"),
    Part("compare.specials.require_specials", _nothing, None, "cheats"),
    Part("compare.specials.nan_left", lambda *a, **k: "", _is_true),
    Part("reference.fitness.without_noise", lambda own, exact: (list(exact), ()), None, "honest"),
    Part("verify.leniency.conditioned", _fourth, None, "honest"),
    Part("verify.leniency.jumping", _fourth, None, "honest"),
    Part("verify.leniency.by_operators", _fourth, None, "honest"),
    Part("reference.nudges.shaken", lambda *a, **k: (), None),
    Part("reference.nudges.N_RANDOM", 4, None, "honest"),
)


class Switches:
    """The parts in this process: which have fired, and at most one of them switched off."""

    def __init__(self) -> None:
        self.fired: set[str] = set()

    def watch(self) -> None:
        """Note from now on which parts fire; constants fire always."""
        for part in PARTS:
            if callable(part.instead):
                found = _value_of(part)
                _replace(found, self._watched(part, found))
            else:
                self.fired.add(part.name)

    def switch_off(self, name: str) -> None:
        """Let the part's substitute stand in for it in all of the judge's modules."""
        (part,) = [one for one in PARTS if one.name == name]
        if callable(part.instead):
            _replace(_value_of(part), part.instead)
        else:
            _replace(_value_of(part), part.instead, name=part.where.rpartition(".")[2])

    def _watched(self, part: Part, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            if part.name not in self.fired and (part.fired is None or part.fired(found, args)):
                self.fired.add(part.name)
            return found

        return call


def _value_of(part: Part) -> Any:
    module, _, name = part.where.rpartition(".")
    return getattr(importlib.import_module(f"{JUDGE}.{module}"), name)


def _replace(old: Any, new: Any, name: str = "") -> None:
    for path, module in list(sys.modules.items()):
        if path.startswith(JUDGE):
            for key, value in list(vars(module).items()):
                if value is old and (not name or key == name):
                    setattr(module, key, new)
