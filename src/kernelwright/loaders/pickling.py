"""Pickles objects so that they open in processes that see none of the user's files."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import torch

from kernelwright.core.places import SITES

EXECUTED = "kernelwright_task_"
"""The first part of the names of the modules that tasks' texts are executed as."""
TRACKED = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS
NAMED = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID


def pickled(objects: Mapping[str, Any], own_folders: Sequence[str]) -> bytes:
    """Pickle ``objects``; definitions of modules in ``own_folders`` are pickled by value, and so
    are those of a task's text, as the layers of a model in a file."""
    file = io.BytesIO()
    with _by_value(_own_modules(own_folders)):
        _Pickler(file).dump(dict(objects))
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Produces the same bytes in every process, since they are part of the task's identity.

    Functions that are pickled by value do not record the module of their globals: in the process
    that unpickles them it is another one (``__main__``) or missing, and torch.compile would look
    there.

    Not covered:
        Classes made in functions and sets of strings, whose names and order are random.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type):
            _name(obj)
        if isinstance(obj, torch.UntypedStorage | torch.TypedStorage):
            file = io.BytesIO()
            torch.save(obj, file)  # torch's default reducer writes the memory address
            return torch.storage._load_from_bytes, (file.getvalue(),)
        return super().reducer_override(obj)

    def _function_getnewargs(self, func: Any) -> Any:
        made = super()._function_getnewargs(func)
        made[1].pop("__name__", None)
        return made


def _name(made: type) -> None:
    """Identify a class of a module by its text; cloudpickle would draw a random number."""
    with contextlib.suppress(OSError, TypeError):
        if "<locals>" not in made.__qualname__ and made not in TRACKED:
            text = f"{made.__module__}.{made.__qualname__}\n{inspect.getsource(made)}"
            name = hashlib.sha256(text.encode()).hexdigest()[:32]
            TRACKED[made], NAMED[name] = name, made


def _own_modules(folders: Sequence[str]) -> list[ModuleType]:
    by_name = [(name, module) for name, module in sys.modules.items() if name != "__main__"]
    return [
        module
        for name, module in by_name
        if isinstance(module, ModuleType)
        and (name.startswith(EXECUTED) or is_own(name, module, folders))
    ]


def is_own(name: str, module: ModuleType, folders: Sequence[str]) -> bool:
    """Whether a module imported under this name is a file in one of the user's folders."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__ != name or name.startswith("kernelwright"):
        return False
    path = Path(file)
    elsewhere = path.is_relative_to(sys.prefix) or path.is_relative_to(sys.base_prefix)
    is_installed = elsewhere or any(part in SITES for part in path.parts)
    return not is_installed and any(path.is_relative_to(folder) for folder in folders)


@contextlib.contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Context in which definitions of these modules are pickled by value."""
    known = cloudpickle.cloudpickle.list_registry_pickle_by_value()
    fresh = [module for module in modules if module.__name__ not in known]
    try:
        for module in fresh:
            cloudpickle.register_pickle_by_value(module)
        yield
    finally:
        for module in fresh:
            cloudpickle.unregister_pickle_by_value(module)
