"""A profile of a candidate's kernels, for the author of the next one; it decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.core.evaluation import KernelProfile
from kernelwright.judge.kinds.reports import Facts, Resources, read
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.runner import Runner

COUNTERS = "counters"  # the part of a context that shows them
N_KERNELS = 8
N_FACTS = 16
MAX_WORDS = 160  # characters of a name or a value


def of(runner: Runner, oracle: Oracle, contexts: Sequence[str] = ()) -> tuple[KernelProfile, ...]:
    """Return the kernels of one call, the slowest first, then what compilers say of others.

    Empty if the child fails or says something of another form. Counters take seconds, and are read
    only if one of ``contexts`` names them.
    """
    counted = any(COUNTERS in words.split(",") for words in contexts)
    try:
        said = read(Resources, runner.resources(oracle.first_arguments, counted=counted))
    except Refused:
        return ()
    if said is None:
        return ()
    compiled = dict(said.compiled)
    launched: dict[str, KernelProfile] = {}
    for name, ns, facts in said.launches:
        before = launched.get(name, KernelProfile(name[:MAX_WORDS], 0.0, 0, {}))
        known = _short(compiled.pop(name, {})) | _short(said.counters.get(name, {}))
        launched[name] = KernelProfile(
            before.name,
            before.time_ns + ns,
            before.n_calls + 1,
            {**before.facts, **known, **_short(facts)},
        )
    slowest = sorted(launched.values(), key=lambda kernel: -kernel.time_ns)
    others = [
        KernelProfile(name[:MAX_WORDS], 0.0, 0, _short(facts)) for name, facts in compiled.items()
    ]
    return tuple((slowest + others)[:N_KERNELS])


def _short(facts: Facts) -> dict[str, float | str]:
    return {
        name[:MAX_WORDS]: value[:MAX_WORDS] if isinstance(value, str) else value
        for name, value in list(facts.items())[:N_FACTS]
    }
