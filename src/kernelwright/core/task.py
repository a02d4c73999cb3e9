"""Task and Workload: what is to be made faster, and on which inputs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from kernelwright.core.digest import digest


@dataclass(frozen=True)
class Task:
    """A reference, how to make its inputs, and where it came from.

    Every task is held in one form, KernelBench's: Python text that defines a class named
    ``entry`` (an ``nn.Module``), ``get_inputs()`` and ``get_init_inputs()``. Loaders bring other
    things (an object, a function, a class in a package) into that form; what text cannot say
    travels in ``payload``, which the text finds under the global name ``PAYLOAD``.
    """

    name: str
    origin: str
    """The loader that made it: 'kernelbench', 'module', 'builtin'."""
    source: str
    entry: str = "Model"
    payload: bytes | None = None
    import_roots: tuple[str, ...] = field(default=(), compare=False)
    """Folders that must be on ``sys.path`` for ``source`` to import; not part of the identity."""

    @cached_property
    def digest(self) -> str:
        """Identity: the source, the entry and the payload, nothing else."""
        payload = None if self.payload is None else hashlib.sha256(self.payload).hexdigest()
        return digest("task", self.source, self.entry, payload)


@dataclass(frozen=True)
class Workload:
    """A task with concrete inputs: their shapes, and whether it is searched on or held out."""

    task: str
    """The task's digest."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """One (dtype, shape) per input, in order; dtype is 'float32' and the like, or 'int' and the
    like with an empty shape for inputs that are not tensors."""
    split: str = "search"
    """'search' or 'holdout'."""

    @cached_property
    def digest(self) -> str:
        return digest("workload", self.task, self.shapes, self.split)
