"""Task and Workload: what is to be made faster, and on which inputs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kernelwright.core.digest import digest
from kernelwright.core.errors import UsageError, nearest

FULL_PRECISION = "fp32"
PRECISIONS = (FULL_PRECISION, "tf32", "bf16", "fp16")
"""What products of a float32 task may be rounded to on the way, where the user asks for it. Full
precision forbids even TF32, which the library takes for convolutions by default."""
_STEP_OF = re.compile(r"^STEP_OF = \"(\w+)\"$", re.M)
MODES = ("eval", "train")
"""The modes of a module; without one asked for, it is in the mode that its constructor leaves."""
_PRECISION = re.compile(rf"^PRECISION\s*=\s*[\"']({'|'.join(PRECISIONS)})[\"']", re.M)
_MODE = re.compile(rf"^MODE\s*=\s*[\"']({'|'.join(MODES)})[\"']", re.M)


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
    source: str = field(repr=False)
    entry: str = "Model"
    payload: bytes | None = field(default=None, repr=False)
    import_roots: tuple[str, ...] = field(default=(), compare=False)
    """Folders that must be on ``sys.path`` for ``source`` to import; not part of the identity."""

    @cached_property
    def digest(self) -> str:
        """Identity: the source, the entry and the payload, nothing else."""
        payload = None if self.payload is None else hashlib.sha256(self.payload).hexdigest()
        return digest("task", self.source, self.entry, payload)

    @cached_property
    def precision(self) -> str:
        """The precision that the text asks for, or ''."""
        found = _PRECISION.search(self.source)
        return found[1] if found else ""

    @cached_property
    def step_of(self) -> str:
        """The class whose training step this task is, or '' for any other task."""
        found = _STEP_OF.search(self.source)
        return found[1] if found else ""

    @property
    def model(self) -> str:
        """The class that a user builds and calls: ``entry``, or what it is a training step of."""
        return self.step_of or self.entry

    def in_precision(self, asked: str) -> Task:
        """The task in the precision asked for; '' asks for nothing.

        It is another task, with another digest: verdicts under one precision say nothing about
        the other, and whoever proposes for it reads in its text what is allowed.

        Raises:
            UsageError: no such precision, or the text allows another.
        """
        what = "the forward may round to it; inputs and results stay"
        if asked == FULL_PRECISION:
            what = "products and convolutions may not round to TF32"
        return self._asking("PRECISION", asked, self.precision, PRECISIONS, what)

    @cached_property
    def mode(self) -> str:
        """The mode that the text asks for, or ''."""
        found = _MODE.search(self.source)
        return found[1] if found else ""

    def set_mode(self, module: Any) -> None:
        """Put a ``torch.nn.Module`` of the task into the mode that the text asks for, if any."""
        if self.mode:
            module.train(self.mode == "train")

    def in_mode(self, asked: str) -> Task:
        """The task with the module in the mode asked for; '' asks for nothing.

        It is another task, as ``in_precision`` makes one.

        Raises:
            UsageError: no such mode, or the text asks for another.
        """
        what = "what the module is put into after its construction"
        return self._asking("MODE", asked, self.mode, MODES, what)

    def _asking(self, name: str, asked: str, own: str, known: Sequence[str], what: str) -> Task:
        """The task whose text asks for this too, under the global name ``name``."""
        if asked in ("", own):
            return self
        if asked not in known or own:
            raise UsageError(
                f'{self.name} cannot be judged in "{asked}"',
                seen=f"its text says {name} = {own!r}" if own else asked,
                do="leave it out" if own else nearest(asked, known),
            )
        line = f'{name} = "{asked}"  # {what}'
        return replace(self, source=f"{self.source.rstrip()}\n\n\n{line}\n")


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
        """Identity: the task, the shapes and the split."""
        return digest("workload", self.task, self.shapes, self.split)
