"""Separates the modules that different tasks import from their own folders.

In one process ``ops`` beside one task is another file than ``ops`` beside the next task.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from kernelwright.loaders.inlined import FINDER, brought_along
from kernelwright.loaders.pickling import is_own

_brought: dict[str, ModuleType] = {}
"""The own modules that the last executed text imported from its folders or contained inline."""
_whose: object = None
"""The folders or the inlined text that these modules came from."""


@contextlib.contextmanager
def own_neighbours(source: str, folders: Sequence[str] = ()) -> Iterator[None]:
    """Context for executing a text that imports modules from ``folders`` or contains them inline.

    Modules of an earlier text with other folders or other inlined modules are unloaded first.

    Not covered:
        A forward that imports such a module only when it is called, after another text was
        executed.
    """
    global _whose
    whose = tuple(folders) or brought_along(source)
    if not whose:
        yield
        return
    if whose != _whose:
        for name, module in _brought.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        _brought.clear()
        sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != FINDER]
    _whose, before = whose, set(sys.modules)
    try:
        yield
    finally:
        for name in sys.modules.keys() - before:
            module = sys.modules[name]
            spec = getattr(module, "__spec__", None)  # sys.modules may contain any object
            is_inside = type(getattr(spec, "loader", None)).__name__ == FINDER
            if is_inside or is_own(name, module, folders):
                _brought[name] = module
