"""Files with CUDA to Python files that compile MSL with ``torch.mps.compile_shader``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.core.syntax import parse
from kernelwright.dialects.simt.source import Edit, Source, apply_edits
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.metal.expressions import value_of_constant
from kernelwright.hipify.metal.functions import functions_of
from kernelwright.hipify.metal.host import host_code
from kernelwright.hipify.metal.kernels import device_code
from kernelwright.hipify.metal.launches import TYPES, Launches
from kernelwright.hipify.metal.vocabulary import DYNAMIC
from kernelwright.hipify.python_text import DEVICE_TEXT, starts_of_lines
from kernelwright.hipify.translate import Translation
from kernelwright.hipify.warp_synchrony import warp_synchrony_changes

_PRELUDE = '''\
def dim3(x=1, y=1, z=1):
    return (x, y, z)


def launch(kernel, grid, block, *arguments, arg_casts=None):
    """Start ``grid`` threadgroups of ``block`` threads; Metal is given totals of threads."""
    grid, block = ((n, 1, 1) if isinstance(n, int) else n for n in (grid, block))
    threads = tuple(groups * size for groups, size in zip(grid, block))
    kernel(*arguments, threads=threads, group_size=block, arg_casts=arg_casts)
'''
_PAIRS = ", ".join(f'torch.{name}: "{kind}"' for kind, name in TYPES.items())
_TYPES = f"TYPES = {{{_PAIRS}}}"
_HOST_ONLY = ("PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL")
NO_HOST = "programs of CUDA's runtime have no counterpart"


@dataclass(frozen=True)
class _Extension:
    """One CUDA text as a class of Python functions."""

    text: str
    findings: tuple[Finding, ...]


def metal_of_cuda(text: str, *, file: str = "") -> Translation:
    """Return a Python module for a CUDA file: its kernels, and its functions on torch's tensors.

    Functions of CUDA's runtime API, ``main`` among them, are unported.
    """
    made = _extension(text, "Extension")
    head = '"""Kernels in MSL; %s."""\n\nimport functools\nimport math\n\nimport torch\n\n\n'
    whole = head % f"ported from {file or 'CUDA'}" + _PRELUDE + f"\n\n{made.text}"
    return Translation(whole, _placed(made.findings, file))


def metal_of_python(text: str, *, file: str = "") -> Translation:
    """Return a candidate in CUDA as one in MSL: ``load_inline`` becomes a class of functions.

    Not covered: sources that are put together at run time or lie in other files, runtime compilers
    that are called through ctypes.

    Raises:
        UsageError: the text is not Python.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"{file or 'the file'} is not Python", seen=str(error), do="mend it"
        ) from error
    return _File(text, tree, file).translated()


class _File:
    """One Python file on its way."""

    def __init__(self, text: str, tree: ast.Module, file: str) -> None:
        self._raw, self._tree, self._file = text.encode(), tree, file
        self._starts = starts_of_lines(text)
        self._edits: list[Edit] = []
        self._findings: list[Finding] = []
        self._used: set[ast.stmt] = set()
        """Assignments of strings that went into an extension."""

    def translated(self) -> Translation:
        classes: list[str] = []
        first: ast.stmt | None = None
        for statement in self._tree.body:
            for call in _builders(statement):
                name = f"Extension{len(classes) + 1 if classes else ''}"
                made = self._built(call, name)
                if made:
                    first = first or statement
                    classes.append(made)
                    self._replace(call, name)
        for statement in self._used:
            self._replace(statement, "")
        if first is not None:
            line = first.lineno - 1
            while line and self._line(line - 1).startswith(b"#"):
                line -= 1
            at = self._starts[line]
            whole = "".join(f"{made}\n\n" for made in classes)
            self._edits.append(Edit(at, at, f"{_PRELUDE}\n\n{whole}"))
            self._edits.append(
                Edit(*[self._after_docstring()] * 2, "import functools\nimport math\n\n")
            )
        self._python()
        left = [s for s in self._device_texts() if s.lineno not in self._lines_used()]
        for string in left:
            self._leave(string, "device code", "rules read the sources of load_inline alone",
                        "build it with load_inline, or write it with compile_shader")  # fmt: skip
        whole = apply_edits(self._raw, self._edits).decode()
        return Translation(whole, _placed(self._findings, self._file))

    # ---- load_inline

    def _built(self, call: ast.Call, name: str) -> str:
        """Return the class that takes the place of an extension; empty if it stays."""
        words = {k.arg: k.value for k in call.keywords}
        parts = [words.get("cpp_sources"), words.get("cuda_sources")]
        for index, value in enumerate(call.args[1:3]):
            parts[index] = parts[index] or value
        found = [self._strings(part) for part in parts if part is not None]
        if any(strings is None for strings in found) or not any(found):
            self._leave(call, ast.unparse(call.func), "its sources are not strings of this file",
                        "write them as strings")  # fmt: skip
            return ""
        text, lines = "", []
        for string in (s for strings in found for s in strings or ()):
            text += f"{string.value}\n"
            lines.append((str(string.value).count("\n") + 1, string.lineno))
        made = _extension(text, name)
        self._findings += [replace(f, line=_line_in(lines, f.line)) for f in made.findings]
        return made.text

    def _strings(self, node: ast.expr) -> list[ast.Constant] | None:
        """Return the strings that an argument is; None if it is something else."""
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [self._strings(item) for item in node.elts]
            return None if None in parts else [s for part in parts for s in part or ()]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node]
        if not isinstance(node, ast.Name):
            return None
        for statement in ast.walk(self._tree):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target, value = statement.targets[0], statement.value
            is_it = isinstance(target, ast.Name) and target.id == node.id
            if is_it and isinstance(value, ast.Constant) and isinstance(value.value, str):
                if statement in self._tree.body:
                    self._used.add(statement)
                return [value]
        return None

    # ---- the rest of the file

    def _python(self) -> None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and node.module == "torch.utils.cpp_extension":
                self._replace(node, "")
            elif isinstance(node, ast.Constant) and re.fullmatch(r"cuda(:\d+)?", str(node.value)):
                self._replace(node, '"mps"')
                self._say(node, str(node.value), "mps")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "cuda" and not node.args:
                    end = self._place(node.func.value)[1]
                    self._edits.append(Edit(end, self._place(node)[1], '.to("mps")'))
                    self._say(node, ".cuda()", '.to("mps")')
            elif isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.cuda.synchronize":
                self._replace(node, "torch.mps.synchronize")
                self._say(node, "torch.cuda.synchronize", "torch.mps.synchronize")
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch.cuda":
                self._leave(node, ast.unparse(node), "torch.mps has no such function by rule",
                            "leave it out, or write it for torch.mps")  # fmt: skip

    def _device_texts(self) -> Iterator[ast.Constant]:
        for node in ast.walk(self._tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and "__global__" in node.value and DEVICE_TEXT.search(node.value):
                yield node

    def _lines_used(self) -> set[int]:
        return {s.value.lineno for s in self._used if isinstance(s, ast.Assign)} | {
            inner.lineno
            for statement in self._tree.body
            for call in _builders(statement)
            for inner in ast.walk(call)
            if isinstance(inner, ast.Constant)
        }

    def _after_docstring(self) -> int:
        """Return the place of the first import after the docstring and ``__future__``."""
        for statement in self._tree.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if not is_text and not is_future:
                return self._starts[statement.lineno - 1]
        return 0

    def _line(self, number: int) -> bytes:
        return self._raw[self._starts[number] : self._starts[number + 1]]

    def _place(self, node: Any) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _replace(self, node: Any, text: str) -> None:
        start, end = self._place(node)
        if not text and self._raw[end : end + 1] == b"\n":
            end += 1
        self._edits.append(Edit(start, end, text))

    def _say(self, node: Any, construct: str, became: str) -> None:
        self._findings.append(Finding(node.lineno, State.TRANSLATED, construct, became))

    def _leave(self, node: Any, construct: str, reason: str, advice: str) -> None:
        self._findings.append(Finding(node.lineno, State.UNPORTED, construct, "", reason, advice))


def _extension(text: str, name: str) -> _Extension:
    """Return the class ``name`` for a CUDA text."""
    source = Source(text.encode(errors="surrogateescape"))
    repairs = list(warp_synchrony_changes(source))
    if repairs:
        edits = [edit for change in repairs for edit in change.edits]
        source = Source(apply_edits(source.text, edits))
    device = device_code(source)
    launches = Launches(source, device, name)
    functions = [f for f in functions_of(source) if not f.is_device and f.name not in _HOST_ONLY]
    programs = [f for f in functions if f.name == "main" or ("Tensor" not in source.text_of(f.node)
                and re.search(r"\bcuda[A-Z]\w+\(|<<<", source.text_of(f.node)))]  # fmt: skip
    code = host_code(source, [f for f in functions if f not in programs], launches, name)
    findings = [*(change.finding for change in repairs), *device.findings, *code.findings]
    for f in programs:
        advice = "start its kernels with launch() from Python, on torch's tensors"
        findings.append(Finding(source.line(f.node), State.UNPORTED, f.name, "", NO_HOST, advice))
    msl = device.text + launches.instantiations
    quote = '"""' if "\\" not in msl else 'r"""'
    members = [*_constants(source, code.constants), *_library(device.dynamic, name)]
    if any("TYPES[" in line for line in code.lines):
        members.append(_TYPES)
    lines = [f"class {name}:", *_indented([f"SOURCE = {quote}"]), *msl.rstrip().split("\n"), '"""']
    lines += [*_indented(members), "", *_indented(code.lines)]
    return _Extension("\n".join(lines).rstrip() + "\n", tuple(findings))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}".rstrip() for line in lines]


def _library(is_dynamic: bool, name: str) -> list[str]:
    """Return the members of a class that compile its kernels."""
    if not is_dynamic:
        return ["LIBRARY = torch.mps.compile_shader(SOURCE)"]
    return [
        "",
        "@staticmethod",
        "@functools.cache",
        "def library(n_bytes):",
        '    """Compile the kernels for this much measured memory of a threadgroup."""',
        f'    head = f"#define {DYNAMIC} {{max(n_bytes, 16)}}\\n"',
        f"    return torch.mps.compile_shader(head + {name}.SOURCE)",
    ]


def _constants(source: Source, wanted: Mapping[str, str]) -> list[str]:
    """Return the program's constants that the host reads, each after those that it names."""
    lines: dict[str, str] = {}

    def add(name: str, value: str) -> None:
        for inner in re.findall(r"[A-Za-z_]\w*", value):
            if inner != name and (found := value_of_constant(source, inner)) is not None:
                add(inner, found)
        plain = re.sub(r"(?<=\d)([uU]?[lL]*|[fF])\b", "", value).replace("/", "//")
        lines.setdefault(name, f"{name} = {plain}")

    for name, value in wanted.items():
        add(name, value)
    return list(lines.values())


def _builders(statement: ast.stmt) -> Iterator[ast.Call]:
    """Yield the calls that build an extension."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name == "load_inline" or (
                name == "load" and any(k.arg == "sources" for k in node.keywords)
            ):
                yield node


def _line_in(lines: Sequence[tuple[int, int]], line: int) -> int:
    """Return the line of a file for one of the texts that were put together from its strings."""
    for n_lines, begins in lines:
        if line <= n_lines:
            return begins + line - 1
        line -= n_lines
    return lines[-1][1]


def _placed(findings: Iterable[Finding], file: str) -> tuple[Finding, ...]:
    named = dict.fromkeys(replace(finding, file=file) for finding in findings)
    return tuple(sorted(named, key=lambda finding: (finding.line, finding.construct)))
