"""One standalone file of several candidates: the sizes of a call choose among their kernels.

Every candidate is a file that the rules wrote for the same module. The general one stays as it is;
of each other one the file takes what the general one lacks, its names with a suffix. The checks of
a call are the same text in all of them and stand there once. The class has the methods of all, and
a forward that chooses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.compiler.candidate.collisions import renamed
from kernelwright.compiler.candidate.module import method
from kernelwright.compiler.candidate.splice import defined_names, text_of
from kernelwright.core.syntax import parse

ENTRY, GENERAL = "ModelNew", "_of_any_size"
_METHODS = ("_launches_for", "why_not", "_prepared_with", "_prepare", "_steps", "forward")
_CHOOSING = ("why_not", "forward")
_TABLE = "MODULES"
"""The table that what kernels have made of the weights is kept for: each has its own."""
_SAME_TABLE = f"{_TABLE}{{suffix}} = copy.copy({_TABLE})"


class CannotJoin(Exception):
    """The files have no such form that their kernels could stand in one file."""


@dataclass(frozen=True)
class Special:
    """A candidate for the calls of one shape."""

    source: str
    shapes: Mapping[str, tuple[int, ...]]
    """The shapes of the forward's tensors that tell such a call, by parameter."""

    @property
    def about(self) -> str:
        """The shapes, in words."""
        return " and ".join(f"{name} of {shape}" for name, shape in self.shapes.items())

    @property
    def test(self) -> str:
        """The condition that a call has these shapes."""
        tests = [f'getattr({n}, "shape", None) == {s}' for n, s in self.shapes.items()]
        return " and ".join(tests)


@dataclass
class _File:
    """A candidate's text, taken apart at its top level."""

    source: str
    imports: list[str] = field(default_factory=list)
    statements: list[tuple[tuple[str, ...], str, frozenset[str]]] = field(default_factory=list)
    """The names that each defines, its text, and the names that it uses."""

    def __post_init__(self) -> None:
        for node in parse(self.source).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.imports.append(ast.unparse(node))
            elif isinstance(node, ast.ClassDef) and node.name == ENTRY:
                self.model = node
            elif not _is_docstring(node):
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                names = tuple(dict.fromkeys(defined_names(node)))
                text = text_of(self.source, node)
                self.statements.append((names, text, frozenset(used)))

    @property
    def texts(self) -> set[str]:
        """The texts of its statements."""
        return {text for _, text, _ in self.statements}

    def methods(self) -> dict[str, str]:
        """The texts of the methods of the module that the rules write, the last of each name."""
        found = {n.name: n for n in self.model.body if isinstance(n, ast.FunctionDef)}
        return {n: text_of(self.source, found[n]) for n in _METHODS if n in found}


def joined(general: str, specials: Sequence[Special]) -> str:
    """Return the text of a file with the kernels of ``general`` and of all ``specials``.

    Raises:
        CannotJoin: a file was not written by the rules for a whole module, or is compiled as a
            whole by torch.compile.
    """
    files = [_File(text) for text in (general, *(special.source for special in specials))]
    for each in files:
        if not hasattr(each, "model") or "why_not" not in each.methods():
            raise CannotJoin("a file was not written by the rules for a whole module")
        if "_compiled = torch.compile(" in each.source:
            raise CannotJoin("a file is compiled as a whole")
    whole = files[0]
    imports = dict.fromkeys(["import copy", *(line for each in files for line in each.imports)])
    sections = [_before_class(whole, [line for line in imports if line not in whole.imports])]
    parts = [_class_text(whole)]
    for number, (special, each) in enumerate(zip(specials, files[1:], strict=True), 1):
        own, methods = _own_text(each, whole, _suffix(number))
        sections += own
        parts += [f"    # For {special.about}.", *methods]
    parts += _dispatch(whole, specials)
    sections.append("\n\n".join(parts))
    return "\n\n\n".join(section.strip("\n") for section in sections) + "\n"


def _suffix(number: int) -> str:
    return f"_of_size_{number}"


def _own_text(file: _File, whole: _File, suffix: str) -> tuple[list[str], list[str]]:
    """Return the text that is added to the general file: at its top level, and as methods."""
    private = _private_names(file, whole)
    renames = {name: name + suffix for name in private}
    sections = []
    for names, text, used in file.statements:
        is_bare = not names and (text not in whole.texts or private & used)
        if _TABLE in names and text in whole.texts:
            sections.append(_SAME_TABLE.format(suffix=suffix))
        elif private & {*names} or is_bare:
            sections.append(renamed(text, renames))
    methods = file.methods()
    own = re.compile(rf"(\bself\.|\bdef )({'|'.join(methods)})\b(?=\W)")
    texts = [renamed(text, renames) for text in methods.values()]
    return sections, [own.sub(lambda found: found[0] + suffix, text) for text in texts]


def _private_names(file: _File, whole: _File) -> set[str]:
    """The names that do not mean the same in both files: of other text, or of text that uses such
    names."""
    private = {_TABLE}
    while True:
        more = {
            name
            for names, text, used in file.statements
            if text not in whole.texts or used & private
            for name in names
        } - private
        if not more:
            return private
        private |= more


def _before_class(whole: _File, imports: Sequence[str]) -> str:
    """The text of the file up to its class, with more imports before its first one that is not from
    ``__future__``."""
    first = next(
        node
        for node in parse(whole.source).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and getattr(node, "module", None) != "__future__"
    )
    rows = whole.source.splitlines()[: whole.model.lineno - 1]
    return "\n".join([*rows[: first.lineno - 1], *imports, *rows[first.lineno - 1 :]])


def _class_text(whole: _File) -> str:
    """The general candidate's class, in which other methods will choose its own."""
    rows = text_of(whole.source, whole.model).splitlines()
    for node in whole.model.body:
        if isinstance(node, ast.FunctionDef) and node.name in _CHOOSING:
            number = node.lineno - whole.model.lineno
            rows[number] = rows[number].replace(f"def {node.name}", f"def {node.name}{GENERAL}", 1)
    return "\n".join(rows)


def _dispatch(whole: _File, specials: Sequence[Special]) -> Iterator[str]:
    """The methods that choose."""
    (forward,) = (
        n for n in whole.model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"
    )
    passed = re.search(r"self\._reference_forward\((.*)\)", text_of(whole.source, forward))
    if passed is None:
        raise CannotJoin("its forward has no reference to fall back to")
    for name in _CHOOSING:
        lines = ["if torch.compiler.is_compiling():  # whose sizes may be symbols"]
        lines.append(f"    return self.{name}{GENERAL}({passed[1]})")
        for number, special in enumerate(specials, 1):
            lines.append(f"if {special.test}:")
            lines.append(f"    return self.{name}{_suffix(number)}({passed[1]})")
        lines.append(f"return self.{name}{GENERAL}({passed[1]})")
        yield method(name, ast.unparse(forward.args), lines)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
