"""Programs whose kernels are PTX in HIP: the CUDA program's host, and a unit of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelwright.dialects.simt import machine
from kernelwright.hipify import translate
from kernelwright.hipify.ptx.program import Kernel, PtxTranslation
from kernelwright.lift.build import twin_functions
from kernelwright.port.lifted import EXPORTED, hosted

_FLAGS = (*EXPORTED, "-Wl,--allow-multiple-definition")
"""Variables are defined by the host, which comes first, and by the kernels: they are the same."""
_RENAMED = "ptx_of_"
"""Before the kernels' names in their unit, because the host has functions of these names."""


def host_with_ptx(
    translated: PtxTranslation,
    host: str,
    folder: Path,
    *,
    includes: Sequence[Path] = (),
    is_checked: bool = True,
) -> Path:
    """Build the CUDA program ``host``, ported to HIP, with translated kernels; return its path.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the host or the translated kernels do not compile or link.
    """
    entries = "".join(_entry(kernel) for kernel in translated.kernels)
    kernels = machine.compile_unit(
        f"{translated.text}\n{entries}",
        folder=folder,
        name="kernels",
        defines=[f"{k.name}={_RENAMED}{k.name}" for k in translated.kernels],
        is_checked=is_checked,
    )
    unit = machine.compile_unit(
        translate(host).text,
        folder=folder,
        name="host",
        includes=includes,
        is_checked=False,
        rewritten=hosted,
    )
    machine.link([unit, kernels, twin_functions()], folder / "program", flags=_FLAGS)
    return folder / "program"


def _entry(kernel: Kernel) -> str:
    """Return the function that the host hands a kernel's arguments to, packed as CUDA has them."""
    lines, given = ["unsigned long long at = 0;"], []
    for k, type_ in enumerate(kernel.parameters):
        lines.append(
            f"at = (at + alignof({type_}) - 1) / alignof({type_}) * alignof({type_}); "
            f"{type_} a{k}; __builtin_memcpy(&a{k}, given + at, sizeof a{k}); at += sizeof a{k};"
        )
        given.append(f"a{k}")
    body = " ".join(lines)
    return (
        f'extern "C" void lifted_{kernel.name}(const char* given) '
        f"{{ {body} {kernel.name}({', '.join(given)}); }}\n"
    )
