"""How many candidates of a module a search can pay for: the more kernels each has, the fewer."""

from __future__ import annotations

from kernelwright.core.trial import Outline

NEST_S, PRODUCT_S = 0.6, 3.0
"""Seconds of a core that compiling a kernel takes: a loop nest's, and one of a product, a
convolution, attention or a recurrent network. A product's in Triton took 2 to 4 s."""
CORE_S = 18.0
"""Seconds of a core that compilers may run for each second of the budget: a suite gives a search
three cores, and the library's own compilers, beside which ours work, run for several times the
budget. Chosen so that a budget of 4 s compiles 24 candidates of one product, as it did without a
bound."""
FEWEST = 2
"""Number of candidates that are compiled in any case: one alone is no choice."""


def n_kernels(outline: Outline) -> int:
    """Return the number of different kernels of a program."""
    return len(_different(outline))


def compile_s(outline: Outline) -> float:
    """Return the seconds of a core that compiling a program's kernels is expected to take."""
    return sum(NEST_S if kind == "nest" else PRODUCT_S for kind, _, _ in _different(outline))


def n_payable(outline: Outline, budget_s: float) -> int:
    """Return how many candidates like this one a budget pays for."""
    each_s = max(NEST_S, compile_s(outline))
    return max(FEWEST, int(CORE_S * budget_s / each_s))


def _different(outline: Outline) -> set[tuple[str, frozenset[object], frozenset[object]]]:
    """Return what tells the own steps of a program apart: equal ones share a kernel."""
    return {
        (step.kind, frozenset(step.form.items()), frozenset(step.sizes.items()))
        for step in outline.steps
        if step.kind != "library"
    }
