"""Rung 5: a port's kernels, compiled for an AMD GPU, run instruction by instruction on this CPU.

The host's part of the program is that of rung 2; what it leaves is compared as there. An
instruction that the emulator does not know leaves the rung unchecked, and is named.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import code_object, compile_missing
from kernelwright.dialects.simt import machine
from kernelwright.isa import NoKernelsError, isa_missing, listing_of
from kernelwright.isa.host import Executed, bridge, environment, executed, offloaded
from kernelwright.port.emulated import NO_OPTIONS, RunOptions, ran, reference
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.programs import Builder, Program, Unit

NAME = "isa"
TARGETS = {"gfx1100": 32, "gfx942": 64}
"""Targets whose instructions are emulated, and the lanes of their waves."""
GAP = "emulator gap"


def executes(
    original: Program, ported: Program, target: str, options: RunOptions = NO_OPTIONS
) -> Rung:
    """Rung 5: run ``ported`` with its kernels as instructions of ``target``, and compare what it
    leaves with what ``original`` leaves under the emulation.

    It passes only if instructions were executed. An original that cannot run here, a port that does
    not compile, or an emulator gap leaves it unchecked.
    """
    if missing := machine.emulation_missing() or compile_missing() or isa_missing():
        return _unchecked(missing)
    if target not in TARGETS:
        return _unchecked(f"instructions of {target} are not emulated; name {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        built = build(ported, target, folder)
        if isinstance(built, str):
            return _unchecked(built)
        program, units, listings = built
        found = reference(original, folder, options)
        if isinstance(found, str):
            return _unchecked(f"the original {found}")
        report = folder / "isa.json"
        _, left = ran(
            program,
            folder,
            options,
            width=TARGETS[target],
            environment=environment(listings, report),
        )
        done = executed(report)
        if done.fault.startswith(GAP):
            return _unchecked(done.fault)
        details = [done.fault] if done.fault else found.differences(left, options.limit_s)
    if details:
        return Rung(NAME, RungStatus.FAILED, tuple(f"{target}: {d}" for d in details), units=units)
    if not done.instructions:
        return _unchecked("no kernel of the program was run as instructions")
    status = RungStatus.PASSED if found.values else RungStatus.RAN
    return Rung(NAME, status, (said_of(done, target),), values=found.values, units=units)


def build(
    ported: Program, target: str, folder: Path
) -> tuple[Path, tuple[str, ...], list[Path]] | str:
    """Build a port's host and compile its units for ``target`` in ``folder``.

    Return the program, the names of its units and their listings; or why it cannot be built.
    """
    try:
        builder = Builder(folder / "host", offloaded, linked=bridge())
        program, names = builder.build(ported)
    except machine.BuildError as error:
        return f"the port's host: {error}"
    units = [unit for unit in (ported.main, *ported.others) if unit.name in names]
    listings = []
    for number, unit in enumerate(units):
        place = folder / f"device{number}"
        place.mkdir()
        listing = _listing(unit, target, place)
        if isinstance(listing, str):
            return listing
        listings += listing
    return program, names, listings


def _listing(unit: Unit, target: str, folder: Path) -> list[Path] | str:
    """Return the listing of a unit's device code, or why there is none; a unit without kernels has
    an empty list."""
    source, built = folder / Path(unit.name).with_suffix(".hip").name, folder / "code.o"
    source.write_text(unit.text, errors="surrogateescape")
    defines = tuple(f"-D{define}" for define in unit.flags.defines)
    errors = code_object(source, built, target=target, includes=unit.flags.includes, flags=defines)
    if errors:
        return f"{target}: {errors[0]}"
    try:
        return [listing_of(built, folder)]
    except NoKernelsError:
        return []
    except UsageError as error:
        return f"{target}: {error}"


def said_of(done: Executed, target: str) -> str:
    """Return in words what was executed."""
    said = f"{done.instructions:,} instructions of {target} in {len(done.kernels)} kernels"
    if done.other_launches:
        said += f"; {done.other_launches} launches of libraries' kernels ran as x86 code"
    return said


def _unchecked(*why: str) -> Rung:
    return Rung(NAME, RungStatus.NOT_CHECKED, why)


def emulated_target(targets: Sequence[str]) -> str:
    """Return the first of the targets whose instructions are emulated, or the first of all."""
    return next((target for target in targets if target in TARGETS), targets[0])
