"""The library settings that candidates are measured against: data, one row each.

The strongest is the fastest of them on the task at hand, measured in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

EAGER, COMPILE = "eager", "compile"
HALVES = ("bf16", "fp16")
"""Precisions that are dtypes: autocast lowers to them, and weights can be kept in them."""
HUGE_PAGES = {"THP_MEM_ALLOC_ENABLE": "1"}
"""Large tensors on transparent huge pages (c10/core/impl/alloc_cpu.cpp): a page fault per 2 MB
instead of per 4 kB, which dominates memory-bound operations with large outputs."""


@dataclass(frozen=True)
class Setting:
    """One way to run the reference with nothing but the library."""

    name: str
    why: str
    compile: Mapping[str, Any] | None = None
    """Arguments of ``torch.compile``; None runs it eagerly."""
    environment: Mapping[str, str] = field(default_factory=dict)
    cuda_graph: bool = False
    """Capture the forward once and replay it, inputs copied in and outputs copied out. It is no
    setting of a training step: other steps of a program lie between its forward and its backward.
    """
    copies: tuple[int, int] = (0, 0)
    """Copies that every call makes of its inputs and outputs: a graph has memory of its own."""
    is_held: bool = False
    """Keep the weights in the reduced precision that was asked for; else torch.autocast lowers."""
    process: str = ""
    """Settings of the same one change nothing of their process, and may share it: a GPU's driver
    starts four processes a second. Empty: it needs one of its own."""

    @property
    def is_tuned(self) -> bool:
        """Whether its compiler measures many kernels, which takes minutes."""
        return self.compile is not None and "max-autotune" in self.compile.get("mode", "")


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "cpu": (
        Setting(EAGER, "what users run"),
        Setting(COMPILE, "the library's own compiler", compile={}),
        Setting("eager_hugepages", "fewer page faults", environment=HUGE_PAGES),
        Setting("compile_hugepages", "both", compile={}, environment=HUGE_PAGES),
    ),
    "cuda": (
        Setting(EAGER, "what users run", process=EAGER),
        Setting(COMPILE, "the library's own compiler", compile={}, process=COMPILE),
        Setting(
            "compile_graph",
            "and CUDA graphs",
            compile={"mode": "reduce-overhead"},
            copies=(1, 0),
            process=COMPILE,
        ),
        Setting("eager_graph", "no launch overhead", cuda_graph=True, copies=(1, 1), process=EAGER),
    ),
}
TUNED: dict[str, tuple[Setting, ...]] = {
    "cpu": (
        Setting(
            "max_autotune",
            "its compiler measures many kernels; fewer page faults",
            compile={"mode": "max-autotune-no-cudagraphs"},
            environment=HUGE_PAGES,
        ),
    ),
    "cuda": (
        Setting(
            "max_autotune",
            "its compiler measures many kernels",
            compile={"mode": "max-autotune-no-cudagraphs"},
        ),
        Setting(
            "max_autotune_graph",
            "and CUDA graphs",
            compile={"mode": "max-autotune"},
            copies=(1, 0),
        ),
    ),
}
"""Settings that take minutes to compile: only for searches that ask for them."""


def settings_of(
    kind: str, precision: str, *, max_autotune: bool = False, compiled: bool = True
) -> tuple[Setting, ...]:
    """The settings of a kind of device, for a task in a reduced precision, or in its own (''); only
    those without torch.compile if they are not to be ``compiled``."""
    rows = (*SETTINGS[kind], *(TUNED[kind] if max_autotune else ()))
    rows = tuple(row for row in rows if compiled or row.compile is None)
    if precision not in HALVES:
        return rows
    why = f"weights held in {precision}"
    return (*rows, *(_held(row, why) for row in rows))


def _held(row: Setting, why: str) -> Setting:
    """The setting with its weights kept in a precision. The library records the graphs of all
    compiled modules of a process in one tree, so that those of two would be in each other's way."""
    process = row.process and f"{row.process}_held"
    return replace(
        row, name=f"{row.name}_held", why=f"{row.why}; {why}", is_held=True, process=process
    )


ALWAYS = (EAGER, COMPILE)
"""Measured beside every candidate, if they are settings of the search, whichever is the strongest.
"""
