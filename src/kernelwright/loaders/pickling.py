"""Objects as bytes that open in processes which see none of the user's files."""

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

TRACKED = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS
NAMED = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
INSTALLED = ("site-packages", "dist-packages")
"""Folders whose packages every process sees, wherever they lie."""


def pickled(objects: Mapping[str, Any], own_folders: Sequence[str]) -> bytes:
    """``objects``, with all that modules in ``own_folders`` define as it is now."""
    file = io.BytesIO()
    with _by_value(_own_modules(own_folders)):
        _Pickler(file).dump(dict(objects))
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Gives the same bytes in every process: they are a part of the task's identity.

    Functions that travel by value do not say which module's globals theirs are: where they
    arrive it is another (``__main__``) or none, and torch.compile would look there.

    Not covered:
        Classes made in functions, and sets of strings: their names and order are chance.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type):
            _name(obj)
        if isinstance(obj, torch.UntypedStorage | torch.TypedStorage):
            file = io.BytesIO()
            torch.save(obj, file)  # torch's own way writes the memory's address
            return torch.storage._load_from_bytes, (file.getvalue(),)
        return super().reducer_override(obj)

    def _function_getnewargs(self, func: Any) -> Any:
        made = super()._function_getnewargs(func)
        made[1].pop("__name__", None)
        return made


def _name(made: type) -> None:
    """Let a class of a module's be known by its text; cloudpickle would draw a number."""
    with contextlib.suppress(OSError, TypeError):
        if "<locals>" not in made.__qualname__ and made not in TRACKED:
            text = f"{made.__module__}.{made.__qualname__}\n{inspect.getsource(made)}"
            name = hashlib.sha256(text.encode()).hexdigest()[:32]
            TRACKED[made], NAMED[name] = name, made


def _own_modules(folders: Sequence[str]) -> list[ModuleType]:
    by_name = [(name, module) for name, module in sys.modules.items() if name != "__main__"]
    return [m for name, m in by_name if isinstance(m, ModuleType) and is_own(name, m, folders)]


def is_own(name: str, module: ModuleType, folders: Sequence[str]) -> bool:
    """Whether a module that was imported under this name is a file in one of the user's folders."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__ != name or name.startswith("kernelwright"):
        return False
    path = Path(file)
    elsewhere = path.is_relative_to(sys.prefix) or path.is_relative_to(sys.base_prefix)
    is_installed = elsewhere or any(part in INSTALLED for part in path.parts)
    return not is_installed and any(path.is_relative_to(folder) for folder in folders)


@contextlib.contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """What these define is pickled by value, and is as before afterwards."""
    known = cloudpickle.cloudpickle.list_registry_pickle_by_value()
    fresh = [module for module in modules if module.__name__ not in known]
    try:
        for module in fresh:
            cloudpickle.register_pickle_by_value(module)
        yield
    finally:
        for module in fresh:
            cloudpickle.unregister_pickle_by_value(module)
