"""The launches of a file: functions that a plain call uses, and operators that a trace records."""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from kernelwright.compiler.codegen.base import Emitted
from kernelwright.compiler.ir.ir import Call, Program, Step, Tensor
from kernelwright.compiler.ir.sizes import NAMES

DIRECT, TRACED = "KernelLaunches", "OPERATORS"
_REGISTER = '''\
def _blank(forms, n_tensors, *given):
    """Results of an operator, unfilled: what it gives where only shapes are traced."""
    device = given[0].device if n_tensors else "{device}"
    made = [
        torch.empty_strided(*form[:2], dtype=form[2], device=device)
        for form in forms(*given[n_tensors:])
    ]
    return made[0] if len(made) == 1 else tuple(made) or None


def _operators(namespace, launches):
    """``torch.ops.<namespace>``: every launch as an operator, for torch.compile and torch.export,
    which record operators and know nothing of addresses. A file that is run again, or beside
    another one with the same launches, finds them."""
    found = getattr(torch.ops, namespace)
    with vars(torch.ops).setdefault("_lock_of_kernels", threading.Lock()):
        if hasattr(found, "library"):
            return found
        library = torch.library.Library(namespace, "DEF")
        for name, schema, forms in launches.operators:
            library.define(name + schema)
            library.impl(name, getattr(launches, name), "{key}")
            blank = functools.partial(_blank, forms, schema.count("Tensor", 0, schema.index("->")))
            torch.library.register_fake(f"{{namespace}}::{{name}}", blank, lib=library)
        found.library = library  # the operators live as long as it does
    return found'''


@dataclass(frozen=True)
class Launch:
    """One own step, or the derivation of what steps need, as a function of tensors."""

    name: str
    parameters: tuple[str, ...]
    """What it is given: tensors, and what was derived from tensors."""
    results: tuple[Tensor, ...]
    """The tensors that it makes."""
    changed: tuple[str, ...]
    """The parameters that it writes to."""
    sizes: tuple[str, ...]
    """The free sizes that it is given after the parameters."""
    text: str

    def call(self) -> str:
        """The statement that runs it in a forward, where ``kernels`` has the launches."""
        made = ", ".join(tensor.name for tensor in self.results)
        call = f"kernels.{self.name}({', '.join((*self.parameters, *self.sizes))})"
        return f"{made} = {call}" if made else call

    def function(self) -> str:
        """The function, as a static method."""
        made = ", ".join(tensor.name for tensor in self.results)
        lines = [self.text, *([f"return {made}"] if made else [])]
        body = textwrap.indent("\n".join(lines), "    ")
        given = ", ".join((*self.parameters, *self.sizes))
        return f"@staticmethod\ndef {self.name}({given}):\n{body}"

    def row(self) -> str:
        """What describes it as an operator: name, schema, and the forms of its results."""
        tensors = [
            f"Tensor({chr(97 + self.changed.index(name))}!) {name}"
            if name in self.changed
            else f"Tensor {name}"
            for name in self.parameters
        ]
        given = ", ".join([*tensors, *(f"SymInt {name}" for name in self.sizes)])
        made = ", ".join("Tensor" for _ in self.results)
        schema = f"({given}) -> {made if len(self.results) == 1 else f'({made})'}"
        forms = "".join(f"({t.shape}, {t.strides}, torch.{t.dtype}), " for t in self.results)
        of_sizes = f"lambda {', '.join(self.sizes)}".rstrip()
        return f'("{self.name}", "{schema}", {of_sizes}: ({forms.rstrip(" ")})),'


def launches_of(program: Program, emitted: Emitted) -> dict[str, Launch]:
    """The launch of every own step, by the step's name, and before them by its own name each
    derivation of what they need."""
    return {**dict(_derivations(program, emitted)), **dict(_launches(program, emitted))}


def _derivations(program: Program, emitted: Emitted) -> Iterator[tuple[str, Launch]]:
    names = {step.name for step in program.own()}
    for part in emitted.derived:
        if names & set(part.steps):
            yield part.name, Launch(part.name, (part.source,), part.tensors, (), (), part.text)


def _launches(program: Program, emitted: Emitted) -> Iterator[tuple[str, Launch]]:
    first = [t.name for t in (*program.inputs, *(tensor for tensor, _ in program.attributes))]
    known = {*first, *(tensor.name for part in emitted.derived for tensor in part.tensors)}
    for step in program.steps:
        if not isinstance(step, Call):
            yield step.name, _launch(step, emitted.launches[step.name], known, first)
        known |= {t.name for t in (step.outputs if isinstance(step, Call) else step.writes)}


def _launch(step: Step, text: str, known: Set[str], first: Sequence[str]) -> Launch:
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    given = used & known
    order = (*(t.name for t in (*step.reads, *step.writes)), *first, *sorted(given))
    return Launch(
        name=step.name,
        parameters=tuple(dict.fromkeys(name for name in order if name in given)),
        results=tuple(tensor for tensor in step.writes if tensor.name not in known),
        changed=tuple(tensor.name for tensor in step.writes if tensor.name in known),
        sizes=tuple(name for name in NAMES if name in used),
        text=text,
    )


def launches_text(launches: Mapping[str, Launch], device_kind: str, kernels: str) -> str:
    """The class with the launches, and the operators; ``kernels`` is the text that they call.

    The operators' namespace follows from all of it, so that two files have two.
    """
    functions = "\n\n".join(launch.function() for launch in launches.values())
    rows = "\n".join(launch.row() for launch in launches.values())
    digest = hashlib.sha256("\n".join([kernels, functions, rows]).encode()).hexdigest()
    register = _REGISTER.format(device=device_kind, key=device_kind.upper())
    return f'''\
class {DIRECT}:
    """Each makes its results and runs a kernel."""

{textwrap.indent(functions, "    ")}

    operators = (  # name, schema, and shape, strides and dtype of every result
{textwrap.indent(rows, " " * 8)}
    )


{register}


{TRACED} = _operators("kernels_{digest[:16]}", {DIRECT})'''
