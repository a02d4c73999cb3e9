"""Inlines the author's own modules into a task's text.

The text then runs where those files do not exist: in the judge's processes, on another machine, or
from a receipt. The inlined modules become part of the task's identity.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator, Mapping
from importlib.util import decode_source, resolve_name
from pathlib import Path
from types import ModuleType

from kernelwright.core.errors import TaskError
from kernelwright.core.syntax import lines
from kernelwright.core.task import Task
from kernelwright.loaders.pickling import is_own

PREAMBLE = """\
# What this text imports of its author's own modules, for where their files are not.
import importlib.abc as _abc
import importlib.machinery as _machinery
import linecache as _linecache
import sys as _sys

_OWN_MODULES = {{
{modules}}}


class _OwnModules(_abc.MetaPathFinder, _abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in _OWN_MODULES:
            return _machinery.ModuleSpec(name, self, is_package=_OWN_MODULES[name][0])
        return None

    def exec_module(self, module):
        text, file = _OWN_MODULES[module.__name__][1], f"<{{module.__name__}}>"
        _linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec", optimize=0), module.__dict__)


_sys.meta_path.append(_OwnModules())

"""
FINDER, _TABLE = "_OwnModules", "_OWN_MODULES"
_FIRST, *_, _LAST, _ = PREAMBLE.splitlines(keepends=True)


def bundled(task: Task) -> Task:
    """Return the task with the texts of the modules in ``import_roots`` that it imports.

    A task that imports none is returned unchanged. The task must have been executed in this
    process.

    Not covered:
        Modules imported under computed names, compiled modules, and data files beside modules.

    Raises:
        TaskError: this process had imported another file under the name of one of the modules.
    """
    texts: dict[str, tuple[bool, str]] = {}
    waiting = [(task.source, "")]
    while waiting:
        text, package = waiting.pop()
        for name in _imported(text, package):
            module = sys.modules.get(name)
            if module:
                _require_own(name, module, task)
            if name not in texts and module and is_own(name, module, task.import_roots):
                path, is_package = Path(str(module.__file__)), hasattr(module, "__path__")
                if path.suffix == ".py":
                    texts[name] = is_package, decode_source(path.read_bytes())
                    waiting.append((texts[name][1], name if is_package else _parent(name)))
    if not texts:
        return task
    for name in list(texts):
        while name := _parent(name):  # a folder without __init__.py is a package too
            texts.setdefault(name, (True, ""))
    modules = "".join(f"    {name!r}: {texts[name]!r},\n" for name in sorted(texts))
    parts = lines(task.source)
    parts.insert(_n_first_lines(task.source), PREAMBLE.format(modules=modules))
    return dataclasses.replace(task, source="".join(parts))


def bringing(modules: Mapping[str, tuple[bool, str]], *, of: str) -> str:
    """Return a text that lets the text behind it import ``modules``: by name whether each is a
    package, and its text. It does not touch what ``bundled`` has put in; ``of`` names them.
    """
    rows = "".join(f"    {name!r}: {modules[name]!r},\n" for name in sorted(modules))
    text = PREAMBLE.format(modules=rows).removeprefix(_FIRST)
    for name in (_TABLE, FINDER):
        text = text.replace(name, f"{name}_of_{of}")
    return text


def brought_along(source: str) -> str:
    """Return the modules that ``bundled`` put into a task's source; empty if there are none.

    Candidates that import the same modules need this text too.
    """
    _, first, behind = source.partition(_FIRST)
    return first and first + behind.partition(_LAST)[0] + _LAST


def _require_own(name: str, module: ModuleType, task: Task) -> None:
    inside = Path(*name.split("."))
    files = (inside.with_suffix(".py"), inside / "__init__.py")
    beside = [file for folder in task.import_roots for file in files if Path(folder, file).exists()]
    is_another = is_own(name, module, ("/",)) and not is_own(name, module, task.import_roots)
    if beside and is_another:
        raise TaskError(
            f"{task.name} imports {beside[0]}, but another module {name} is already imported",
            seen=str(module.__file__),
            do="load the task in its own process, before the other is imported, or rename one",
        )


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _imported(text: str, package: str) -> Iterator[str]:
    """Yield the names of the modules that a module of this package may import, with their packages.

    Some of the names may turn out not to be modules.
    """
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level > package.count(".") + bool(package):
                continue  # beyond the top-level package: the import has failed and was caught
            if node.level:
                base = resolve_name("." * node.level + base, package)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def _n_first_lines(text: str) -> int:
    """Count the lines of the docstring and the __future__ imports, which must come first."""
    n_lines = 0
    for node in ast.parse(text).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and getattr(node, "module", None) != "__future__":
            break
        n_lines = node.end_lineno or n_lines
    return n_lines
