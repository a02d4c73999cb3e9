"""Ports of CUDA candidates to Metal: written, compiled and judged where there is no Mac.

0 lint: nothing is left unported.
1 compile: clang reads the kernels with headers of our own. Apple's compiler has not seen them.
2 emulate: the judge accepts the port for its task, its kernels run by this CPU.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.hipify import Translation
from kernelwright.hipify.metal import metal_of_cuda, metal_of_python
from kernelwright.hipify.metal.vocabulary import DYNAMIC
from kernelwright.judge import Judge
from kernelwright.port import PortedFile, PortReport, Rung, RungStatus
from kernelwright.port.ladder import lint
from kernelwright.port.outputs import write_outputs, write_report

RUNGS = (0, 1, 2)
SUFFIXES = (".py", ".cu")
_MEASURED_BYTES = 1024
"""Bytes of measured threadgroup memory for which rung 1 compiles kernels; any number would do."""


def port_to_metal(
    path: str | Path,
    *,
    out: str | Path | None = None,
    rungs: Sequence[int] = (0, 1),
    task: Task | None = None,
) -> PortReport:
    """Write a CUDA candidate (a Python file, or a .cu file with functions of torch) in MSL.

    The port is one Python file that calls ``torch.mps.compile_shader``. Without ``out`` nothing is
    kept. ``task`` is what a candidate solves; rung 2 judges it.

    Raises:
        UsageError: no such file, kind of file or rung; ``out`` holds a file that would be lost.
        DialectError: tree-sitter is not installed.
    """
    source = Path(path)
    if not source.is_file() or source.suffix not in SUFFIXES:
        raise UsageError(
            "only a file in CUDA is ported to Metal",
            seen=str(source),
            do=f"name a {' or '.join(SUFFIXES)} file",
        )
    for rung in rungs:
        if rung not in RUNGS:
            raise UsageError(f"no rung {rung} of Metal's", seen=str(rung), do="choose from 0, 1, 2")
    text = source.read_text(errors="surrogateescape")
    ported = metal_of_python if source.suffix == ".py" else metal_of_cuda
    translation = ported(text, file=source.name)
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch if out is None else out)
        place = under / source.with_suffix(".py").name
        write_outputs(under, {source: place}, {place: translation.text})
        climbed = tuple(_climb(number, translation, task) for number in sorted(set(rungs)))
        written = str(place) if out is not None else ""
        file = PortedFile(source.name, written, translation, climbed)
        report = PortReport("metal", (), (file,))
        write_report(under, report.as_json(), [place])
    return report


def _climb(number: int, translation: Translation, task: Task | None) -> Rung:
    if number == 0:
        return lint(translation)
    return _compiles(translation.text) if number == 1 else _emulates(translation.text, task)


def _compiles(text: str) -> Rung:
    """Rung 1: clang reads each kernel text of the file."""
    from kernelwright.dialects.compile_shader import compile_shader

    if missing := msl_missing():
        return Rung("compile", RungStatus.NOT_CHECKED, (missing,))
    sources = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "#include <metal_stdlib>" in node.value
    ]
    errors = []
    for source in sources:
        try:
            compile_shader(f"#define {DYNAMIC} {_MEASURED_BYTES}\n#line 1\n{source}")
        except SyntaxError as error:
            errors.append(str(error))
    if errors:
        return Rung("compile", RungStatus.FAILED, tuple(errors))
    if not sources:
        return Rung("compile", RungStatus.NOT_CHECKED, ("the port has no kernels",))
    return Rung("compile", RungStatus.PASSED)


def _emulates(text: str, task: Task | None) -> Rung:
    """Rung 2: the judge's verdict on the port."""
    if task is None:
        why = "a candidate is run for its task: name it with --task"
        return Rung("emulate", RungStatus.NOT_CHECKED, (why,))
    if missing := msl_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    with Judge(task, device=resolve(Device.parse("metal"))) as judge:
        verdict = judge.evaluate(Candidate(text, "metal"))
    if verdict.passed:
        return Rung("emulate", RungStatus.PASSED)
    return Rung("emulate", RungStatus.FAILED, (f"{verdict.status}: {verdict.why}",))
