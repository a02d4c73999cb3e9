"""What a model should answer, written from facts: the reference's operators, the rules that made
the candidate, its schedule, and what the judge found. Nothing in it is made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from kernelwright.compiler.rewrite import LAYOUTS, RULES
from kernelwright.core.candidate import Proposal
from kernelwright.core.evaluation import Evaluation
from kernelwright.loaders.trace import Trace
from kernelwright.suites.composed.lessons import PROPOSER, prose

TEMPLATE = "answer-1.md.j2"
"""With its version: a change of the text is a new file."""
LESSON = "lesson-1.md.j2"
"""Of a kernel that was composed with its task: two lines of prose, for a small model."""
HEAVY = 16.0
"""Operations for each byte that must move from which arithmetic decides: about the balance of a
GPU's single precision and its memory (H200: 67 TFLOP/s over 4.8 TB/s, NVIDIA's data sheet)."""
VARIANTS = {
    "fused, own products": "Neighbouring operators share kernels; products and convolutions are "
    "own code where that pays.",
    "fused": "Neighbouring operators share kernels; products and convolutions stay the library's.",
    "fused, ordinary convolutions": "Neighbouring operators share kernels; transposed convolutions "
    "of stride one run as ordinary ones, and one-dimensional ones as two-dimensional ones.",
    "fused, channels last": "Neighbouring operators share kernels; convolutions run with channels "
    "last in memory.",
    "fused as far as it goes": "As much as possible shares a kernel, even where values are "
    "computed twice.",
    "reductions apart": "Every reduction is a kernel of its own; the pointwise work goes with it.",
    "fused, as written": "Neighbouring operators share kernels; the formula stays as it is "
    "written.",
}
"""What the rules' variants do, by name."""
KINDS = {
    "kernel": "own device code does the work",
    "library": "library calls are arranged anew",
    "algebra": "the same function takes less work",
}


def answer(proposal: Proposal, found: Evaluation, trace: Trace | None) -> str:
    """The three parts. The prose is about what the code does, and how it fared."""
    if proposal.proposer == PROPOSER and found.passed:
        return lesson_answer(*proposal.lineage, code=proposal.candidate.source)
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
    )


def lesson_answer(form: str, *, code: str) -> str:
    """The three parts of a lesson's answer, whose kernel was composed by a form."""
    analysis, design = prose(form)
    return _template(LESSON).render(analysis=analysis, design=design, code=code.strip("\n"))


def _reference(trace: Trace | None) -> dict[str, Any] | None:
    """The reference in numbers; None where it could not be followed."""
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
    """'16 MB', 'of 1000 kB each', to two digits."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def _rewrites(lineage: tuple[str, ...]) -> Iterator[str]:
    """The rules of a lineage with where they come from; its last word is the variant's."""
    sources = {rule.name: rule.source for rule in (*RULES, *LAYOUTS)}
    for name in dict.fromkeys(lineage):
        if name in sources:
            yield f"{name} ({sources[name]})"


def _knobs(schedule: Mapping[str, Any]) -> Iterator[str]:
    """'fused_softmax: block 4096, parallel outer'."""
    plain = {name: value for name, value in schedule.items() if not isinstance(value, Mapping)}
    if plain:
        yield _named(plain)
    for name, knobs in schedule.items():
        if isinstance(knobs, Mapping) and knobs:
            yield f"{name}: {_named(knobs)}"


def _named(knobs: Mapping[str, Any]) -> str:
    return ", ".join(f"{knob} {value}" for knob, value in sorted(knobs.items()))


def _verdict(found: Evaluation) -> str:
    """What is to be expected of the code: what was measured, rounded."""
    speedup = found.speedup
    if not found.passed:
        return f"It is not right: {found.status.value.replace('_', ' ')}."
    if speedup is None:
        return "It is right; its speed was not measured."
    if speedup.low > 1:
        return f"It beats the strongest library setting: about {speedup.median:.2g} times as fast."
    if speedup.high < 1:
        return (
            f"It is right, and slower than the strongest library setting: {speedup.median:.2g} "
            "times as fast."
        )
    return "It is right, and about as fast as the strongest library setting."


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("kernelwright.dataset", "."), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    return environment.get_template(name)
