"""A package with a kernel, opened: what is in it becomes a candidate that can be judged.

The module of a package whose kernels take another module's place is the task's own, as it is in
production: the package's forward is bound to it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernelwright.archive.receipt import Receipt
from kernelwright.core.candidate import Candidate
from kernelwright.core.digest import digest
from kernelwright.core.errors import TaskError
from kernelwright.core.places import MAX_CHARACTERS, read_regular
from kernelwright.core.task import Task
from kernelwright.dialects.recognised import dialect_of
from kernelwright.loaders.inlined import bringing
from kernelwright.loaders.training_step import CANDIDATE, ENTRY, as_judged
from kernelwright.shipping.operators import KERNEL
from kernelwright.shipping.shipment import LIBRARY, PROVENANCE, RECEIPT

_PYTHON = ("python", "triton")
"""Languages of solutions whose files are Python."""
_LAYER = '''

import types as _types

from {package}.layers import {layer} as _Layer


def {entry_new}(*arguments):
    """The reference's module with the forward of the layer, as ``kernelize`` gives it."""
    made = {entry}(*arguments)
    module = vars(made).get("_module", made)  # of a training step
    module.forward = _types.MethodType(_Layer.forward, module)
    return made
'''
_FUNCTION = '''

import types as _types

import torch as _torch

from {module} import {function} as _run

_FORMS = {{}}


def {entry_new}(*arguments):
    """The reference's module, whose forward calls a function of its inputs and weights."""
    module = {entry}(*arguments)
    paths = [path.rpartition(".") for path in module.state_dict()]
    module._weights = [(module.get_submodule(above), name) for above, _, name in paths]
    module.forward = _types.MethodType(_forward, module)
    return module


def _forward(module, *inputs):
    weights = [
        part._parameters[name] if name in part._parameters else part._buffers[name]
        for part, name in module._weights
    ]
    return {call}
'''
_PASSING = '''

def _passing(module, inputs, weights):
    """Call a function that writes to the results, which have the forms of the reference's."""
    key = tuple((x.shape, x.dtype, x.device) for x in inputs if isinstance(x, _torch.Tensor))
    if key not in _FORMS:
        made = type(module).forward(module, *inputs)
        several = isinstance(made, (list, tuple))
        _FORMS[key] = several, list(made) if several else [made]
    several, forms = _FORMS[key]
    results = [_torch.empty_like(form) for form in forms]
    _run(*inputs, *weights, *results)
    return tuple(results) if several else results[0]
'''


@dataclass(frozen=True)
class Package:
    """A kernel in one of the formats, with its receipt if it has one."""

    path: Path
    kind: str
    """'op', 'hf' or 'fib', as for export."""
    receipt: Receipt | None
    _candidate: Callable[[Task, str | None], Candidate]

    def candidate(self, task: Task, entry: str | None = None) -> Candidate:
        """The kernel as a candidate for a task; ``entry`` names a layer where there are several.

        Raises:
            TaskError: it cannot be one standalone Python file for this task.
        """
        return self._candidate(task, entry)


def package_at(path: Path) -> Package | None:
    """The package in a folder, or the solution in a file; None where neither is there.

    Raises:
        TaskError: it is damaged, or holds several kernels.
        ReceiptError: its receipt is damaged.
    """
    if path.is_dir():
        if found := sorted(path.glob(f"src/*/{PROVENANCE}")):
            return _operators(path, found[0].with_name(KERNEL))
        if variants := _variants(path):
            return _layers(path, variants)
        if found := sorted(path.glob("solutions/**/*.json")):
            return _solution(path, found)
    elif path.suffix == ".json" and path.is_file() and "sources" in (facts := _facts(path)):
        return _solution_of(path, facts, None)
    return None


# -- op ------------------------------------------------------------------------------------------


def _operators(path: Path, kernel: Path) -> Package:
    def candidate(task: Task, entry: str | None) -> Candidate:
        text = _read(kernel)
        return as_judged(Candidate(text, dialect_of(text), entry or ENTRY), task)

    return Package(path, "op", _receipt(kernel.with_name(RECEIPT)), candidate)


# -- hf ------------------------------------------------------------------------------------------


def _variants(path: Path) -> list[Path]:
    """The builds of a package of Hugging Face's kernels: in the folder, in ``build``, or itself."""
    places = [path, *sorted(path.glob("torch*")), *sorted(path.glob("build/torch*"))]
    needed = ("metadata.json", "__init__.py")
    return [place for place in places if all((place / name).is_file() for name in needed)]


def _layers(path: Path, variants: list[Path]) -> Package:
    receipts = [receipt for each in variants if (receipt := _receipt(each / RECEIPT))]

    def candidate(task: Task, entry: str | None) -> Candidate:
        if len(variants) > 1:
            raise TaskError(
                f"{path} holds several builds",
                seen=", ".join(each.name for each in variants),
                do=f"name one of them: {variants[0]}",
            )
        (build,) = variants
        if any(build.rglob("*.so")):
            raise _unreadable(build, "compiled files, whose source is not there")
        name = str(_facts(build / "metadata.json").get("id", ""))
        if not name.isidentifier():
            raise _unreadable(build / "metadata.json", f"no id that is a module's name: {name!r}")
        texts = {str(file.relative_to(build)): _read(file) for file in build.rglob("*.py")}
        layer = _layer(build, texts, entry)
        return _standing_in(
            task, name, texts, _LAYER.format(package=name, layer=layer, **_ends(task))
        )

    return Package(path, "hf", receipts[0] if receipts else None, candidate)


def _layer(build: Path, texts: Mapping[str, str], asked: str | None) -> str:
    """The name of the layer: the one asked for, or the only one there is."""
    text = texts.get("layers.py") or texts.get("layers/__init__.py") or ""
    found = [line[6:].partition("(")[0] for line in text.splitlines() if line.startswith("class ")]
    if asked in found or (asked is None and len(found) == 1):
        return asked or found[0]
    raise TaskError(
        f"which layer of {build} is the candidate?",
        seen=f"{asked or 'none named'}; there are {', '.join(found) or 'none'}",
        do="name it with --entry",
    )


# -- fib -----------------------------------------------------------------------------------------


def _solution(path: Path, files: list[Path]) -> Package:
    if len(files) > 1:
        raise TaskError(
            f"{path} holds several solutions",
            seen=", ".join(file.name for file in files)[:200],
            do=f"name one of them: {files[0]}",
        )
    return _solution_of(path, _facts(files[0]), _receipt(path / RECEIPT))


def _solution_of(path: Path, facts: Mapping[str, Any], receipt: Receipt | None) -> Package:
    def candidate(task: Task, entry: str | None) -> Candidate:
        try:
            spec, sources = facts["spec"], {s["path"]: s["content"] for s in facts["sources"]}
            languages = spec.get("languages") or [spec["language"]]
            file, _, function = (entry or spec["entry_point"]).partition("::")
            writes = spec.get("destination_passing_style", True)
        except (KeyError, TypeError, AttributeError) as error:
            raise _unreadable(path, f"no solution: {type(error).__name__}: {error}") from error
        others = [each for each in languages if each not in _PYTHON]
        if others:
            raise _unreadable(path, f"a solution in {', '.join(map(str, others))}")
        texts = {name: text for name, text in sources.items() if name.endswith(".py")}
        if file not in texts:
            raise _unreadable(path, f"no source {file}, which the entry point names")
        name = f"solution_{digest('solution', sorted(texts.items())).removeprefix('b2:')[:10]}"
        module = _module_name(name, file)
        call = "_passing(module, inputs, weights)" if writes else "_run(*inputs, *weights)"
        text = _FUNCTION.format(module=module, function=function, call=call, **_ends(task))
        return _standing_in(task, name, texts, text + (_PASSING if writes else ""))

    return Package(path, "fib", receipt, candidate)


# -- both ----------------------------------------------------------------------------------------


def _ends(task: Task) -> dict[str, str]:
    """The names of the reference's class and of the candidate's."""
    return {"entry": task.entry, "entry_new": CANDIDATE if task.step_of else ENTRY}


def _standing_in(task: Task, package: str, texts: Mapping[str, str], text: str) -> Candidate:
    """A candidate with the task's own text, in which the package's forward replaces a module's."""
    modules = {package: (True, "")}
    for file, content in texts.items():
        name = _module_name(package, file)
        modules[name] = (PurePosixPath(file).name == "__init__.py", content)
        for parent in _parents(name):
            modules.setdefault(parent, (True, ""))
    payload = "" if task.payload is None else _PAYLOAD.format(base64.b64encode(task.payload))
    source = f"{payload}{task.source.rstrip()}\n\n\n{bringing(modules, of='package')}{text}"
    if len(source) > MAX_CHARACTERS:
        raise TaskError(
            f"the task {task.name} is too large to be judged with this package",
            seen=f"{len(source):,} characters with its weights",
            do="make the task of a class with its arguments: file.py:Class",
        )
    dialects = {dialect_of(content) for content in texts.values()} - {LIBRARY}
    return Candidate(source, min(dialects, default=LIBRARY), _ends(task)["entry_new"])


_PAYLOAD = "import base64 as _base64\n\nPAYLOAD = _base64.b64decode({!r})\n\n\n"


def _module_name(package: str, file: str) -> str:
    parts = PurePosixPath(file).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _parents(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts)))


def _receipt(path: Path) -> Receipt | None:
    return Receipt.read(path) if path.is_file() else None


def _facts(path: Path) -> Mapping[str, Any]:
    try:
        facts = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"no JSON: {error}") from error
    if not isinstance(facts, dict):
        raise _unreadable(path, "JSON that is no object")
    return facts


def _read(path: Path) -> str:
    try:
        return read_regular(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, seen: str) -> TaskError:
    return TaskError(
        f"{path} cannot be judged",
        seen=seen,
        do="give a package whose files are Python, or judge the kernel's own file",
    )
