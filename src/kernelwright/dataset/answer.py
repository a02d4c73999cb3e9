"""Writes the answer that a model should learn, from facts only.

The facts are the reference's operators, the rules that made the candidate, its schedule and the
judge's verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from kernelwright.compiler.rewrite import LAYOUTS, RULES
from kernelwright.core import schedule_line
from kernelwright.core.candidate import Exemplar, Proposal
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.trial import NO_JUDGE
from kernelwright.loaders.trace import Trace
from kernelwright.suites.composed.lessons import PROPOSER, prose

TEMPLATE = "answer-1.md.j2"
"""Template of an answer. The name has a version: a changed text is a new file."""
LESSON = "lesson-1.md.j2"
"""Template of the answer for a composed kernel: two lines of prose, for a small model."""
HEAVY = 16.0
"""Operations per byte of memory traffic above which a task is bound by arithmetic: about the ratio
of a GPU's single-precision rate to its memory bandwidth (H200: 67 TFLOP/s over 4.8 TB/s, NVIDIA's
data sheet)."""
VARIANTS = {
    "fused, own matmul": "Neighbouring operators share kernels; products and convolutions are "
    "own code where that pays.",
    "fused": "Neighbouring operators share kernels; products and ordinary convolutions stay the "
    "library's.",
    "fused, plain convolutions": "Neighbouring operators share kernels; transposed convolutions "
    "of stride one run as ordinary ones, and one-dimensional ones as two-dimensional ones.",
    "fused, channels last": "Neighbouring operators share kernels; convolutions run with channels "
    "last in memory.",
    "fused, channels last, library's relu": "Convolutions run with channels last in memory, and "
    "the library takes the relu behind them.",
    "fused, channels last, narrow convolutions": "Convolutions run with channels last in memory; "
    "those of few channels are own code, and begin the statistics of their norms.",
    "fused, channels last, own products": "Convolutions run with channels last in memory; those of "
    "one tap are own products with what follows them.",
    "fused with recomputation": "As much as possible shares a kernel, even where values are "
    "computed twice.",
    "one kernel per reduction": "Every reduction is a kernel of its own; the pointwise work goes "
    "with it.",
    "fused, formula unchanged": "Neighbouring operators share kernels; the formula stays as it is "
    "written.",
}
"""Descriptions of the rules' variants, by name."""
KINDS = {
    "kernel": "own device code does the work",
    "library": "library calls are arranged anew",
    "algebra": "the same function takes less work",
}


def answer(proposal: Proposal, found: Evaluation, trace: Trace | None, chosen: str = "") -> str:
    """Return the three parts of an answer; the prose describes the code and its verdict.

    ``chosen`` is a line on the choice of the schedule, if there was one.
    """
    if proposal.proposer == PROPOSER and found.passed:
        return lesson_answer(*proposal.lineage, code=proposal.candidate.source, chosen=chosen)
    schedule = proposal.schedule.get("kernels", {})
    return _template(TEMPLATE).render(
        code=proposal.candidate.source.strip("\n"),
        dialect=proposal.candidate.dialect,
        reference=_reference(trace),
        variant=VARIANTS.get(str(proposal.schedule.get("variant", "")), ""),
        rewrites=list(_rewrites(proposal.lineage)),
        kernels=[name for name, knobs in schedule.items() if isinstance(knobs, Mapping)],
        knobs=list(_knobs(schedule)),
        kinds=[KINDS[kind] for kind in found.kinds if kind in KINDS],
        verdict=_verdict(found),
        chosen=chosen,
    )


def lesson_answer(form: str, *, code: str, chosen: str = "") -> str:
    """Return the three parts of the answer for a kernel that was composed by a form."""
    analysis, design = prose(form)
    design = " ".join(filter(None, (design, chosen)))
    return _template(LESSON).render(analysis=analysis, design=design, code=code.strip("\n"))


def choice(proposal: Proposal, found: Evaluation, shown: Sequence[Exemplar]) -> str:
    """Return a line on what the schedule changes of the fastest kernel that the prompt shows, and
    what that brings, as measured; empty if that kernel is another program or there is nothing to
    tell."""
    source, speed = proposal.candidate.source, found.speedup
    timed = [each for each in shown if each.evaluation.speedup is not None]
    program = schedule_line.program(source)
    if not program or speed is None or not timed:
        return ""
    best = max(timed, key=_median)
    shown_source = best.proposal.candidate.source
    mine, other = schedule_line.read(source), schedule_line.read(shown_source)
    if schedule_line.program(shown_source) != program or other == mine:
        return ""
    moves = [f"{name} {other[name]} to {mine[name]}" for name in mine if other[name] != mine[name]]
    return f"{', '.join(moves)}: {speed.median / _median(best):.2g} times as fast."


def _median(exemplar: Exemplar) -> float:
    speedup = exemplar.evaluation.speedup
    return 0.0 if speedup is None else speedup.median


def _reference(trace: Trace | None) -> dict[str, Any] | None:
    """Return figures about the reference; None if it could not be traced."""
    if trace is None or not trace.nodes:
        return None
    is_product = ("product", "convolution", "convolution_transposed")
    per_byte = trace.flops / max(1, trace.least_bytes)
    return {
        "n_operators": len(trace.nodes),
        "n_products": sum(node.name in is_product for node in trace.nodes),
        "moved": _amount(trace.moved_bytes),
        "least": _amount(trace.least_bytes),
        "times": trace.moved_bytes / max(1, trace.least_bytes),
        "per_byte": per_byte,
        "is_heavy": per_byte > HEAVY,
    }


def _amount(n_bytes: int) -> str:
    """Format a number of bytes in decimal units with three digits, as in '16 MB'."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def _rewrites(lineage: tuple[str, ...]) -> Iterator[str]:
    """Yield the rules of a lineage with their sources; its last entry names the variant."""
    sources = {rule.name: rule.source for rule in (*RULES, *LAYOUTS)}
    for name in dict.fromkeys(lineage):
        if name in sources:
            yield f"{name} ({sources[name]})"


def _knobs(schedule: Mapping[str, Any]) -> Iterator[str]:
    """Yield the choices for each kernel, as in 'fused_softmax: block 4096, parallel outer'."""
    plain = {name: value for name, value in schedule.items() if not isinstance(value, Mapping)}
    if plain:
        yield _named(plain)
    for name, knobs in schedule.items():
        if isinstance(knobs, Mapping) and knobs:
            yield f"{name}: {_named(knobs)}"


def _named(knobs: Mapping[str, Any]) -> str:
    return ", ".join(f"{knob} {value}" for knob, value in sorted(knobs.items()))


def _verdict(found: Evaluation) -> str:
    """Describe the verdict, or the trial, with rounded measurements."""
    speedup, rival = found.speedup, "the strongest library setting"
    if found.judge_version == NO_JUDGE:
        rival = "the reference in eager mode"
    if not found.passed:
        return f"It is not right: {found.status.value.replace('_', ' ')}."
    if speedup is None:
        return "It is right; its speed was not measured."
    if speedup.low > 1:
        return f"It beats {rival}: about {speedup.median:.2g} times as fast."
    if speedup.high < 1:
        return f"It is right, and slower than {rival}: {speedup.median:.2g} times as fast."
    return f"It is right, and about as fast as {rival}."


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("kernelwright.dataset", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(name)
