"""A profile of a candidate's kernels, for whoever writes the next one; it decides nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.core.evaluation import KernelProfile
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.runner import Runner

COUNTERS = "counters"  # the part of a context that shows them
N_KERNELS = 8
N_FACTS = 16
MAX_WORDS = 160  # characters of a name or a value: all of it is a stranger's word


def of(runner: Runner, oracle: Oracle, contexts: Sequence[str] = ()) -> tuple[KernelProfile, ...]:
    """The kernels of one call, the slowest first, then what compilers say of others.

    Empty where nothing is known. Counters take seconds, and are read only where one of
    ``contexts`` names them.
    """
    counted = any(COUNTERS in words.split(",") for words in contexts)
    try:
        said = runner.resources(oracle.first_arguments, counted=counted)
        counters = {str(name): _facts(facts) for name, facts in said["counters"].items()}
        compiled = {str(name): _facts(facts) for name, facts in said["compiled"].items()}
        launched: dict[str, KernelProfile] = {}
        for name, ns, facts in said["launches"]:
            before = launched.get(str(name), KernelProfile(str(name)[:MAX_WORDS], 0.0, 0, {}))
            time_ns = before.time_ns + _number(ns)
            named = compiled.pop(str(name), {}) | counters.get(str(name), {})
            merged = {**before.facts, **named, **_facts(facts)}
            launched[str(name)] = KernelProfile(before.name, time_ns, before.n_calls + 1, merged)
    except (Refused, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return ()
    slowest = sorted(launched.values(), key=lambda kernel: -kernel.time_ns)
    others = [KernelProfile(name[:MAX_WORDS], 0.0, 0, facts) for name, facts in compiled.items()]
    return tuple((slowest + others)[:N_KERNELS])


def _facts(facts: Mapping[str, Any]) -> dict[str, float | str]:
    shown = list(facts.items())[:N_FACTS]
    return {
        str(name)[:MAX_WORDS]: _number(v) if isinstance(v, (int, float)) else str(v)[:MAX_WORDS]
        for name, v in shown
    }


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number
