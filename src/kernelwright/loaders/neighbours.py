"""What texts import of their authors' own modules, kept apart in one process: ``ops`` beside one
task is another file than ``ops`` beside the next."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from kernelwright.loaders.inlined import FINDER, brought_along
from kernelwright.loaders.pickling import is_own

_brought: dict[str, ModuleType] = {}
"""The modules that the text which was executed last imported from beside it, or had in it."""
_whose: object = None


@contextlib.contextmanager
def own_neighbours(source: str, folders: Sequence[str] = ()) -> Iterator[None]:
    """Around the execution of a text, which imports from ``folders`` or brings modules along: those
    of an earlier text with other folders, or others in it, are forgotten.

    Not covered:
        A forward that imports them when it is called, after another text was executed.
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
            spec = getattr(module, "__spec__", None)  # anything may stand there
            is_inside = type(getattr(spec, "loader", None)).__name__ == FINDER
            if is_inside or is_own(name, module, folders):
                _brought[name] = module
