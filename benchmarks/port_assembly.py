"""Programs as machine code: built by nvcc, stripped, lifted, and run as AMD instructions.

    python benchmarks/port_assembly.py --arch sm_80 --to gfx1100 --keep FOLDER
    python benchmarks/port_assembly.py --arch sm_90 --to gfx942 --keep FOLDER --only reduce
    python benchmarks/port_assembly.py --show --keep FOLDER

The programs are those of the port bench and, with ``--families PROGRAMS``, those that
port_families.py has made of them. The lifter is given a stripped cubin alone, whose hash is
recorded. A program counts as right only if lifted AMD instructions were executed, and it printed
exactly what is expected: on its own inputs, and on the changed ones that port_families.py made, if
it could. FOLDER keeps cubins, hosts and one JSON file a program, so that a later call goes on where
an earlier one stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from kernelwright.bench.port_bench.program import PROGRAMS, BenchProgram, chosen, read_program
from kernelwright.dialects import nvidia
from kernelwright.dialects.simt import machine
from kernelwright.isa import listing_of
from kernelwright.isa.host import bridge, environment, executed
from kernelwright.lift import LiftedProgram, lift
from kernelwright.lift.build import Assembled, assemble
from kernelwright.port.instructions import GAP, TARGETS
from kernelwright.port.lifted import called_of, host_of_instructions, host_with_twin

RIGHT, WRONG, UNRUN = "right", "wrong", "no lifted kernel ran"
NOT_LIFTED, NO_KERNEL, NOT_BUILT = "not lifted", "no kernel", "not built"
LATE = "time limit"
WORDS = (RIGHT, NOT_LIFTED, GAP, WRONG, LATE, NOT_BUILT, UNRUN, NO_KERNEL)
NOT_COUNTED = (UNRUN, NO_KERNEL)
LIMIT_S = 120.0
_COMMENTS = re.compile(r"^//.*\n", re.MULTILINE)
TEXTS = (".debug", ".nv_debug", ".nv_fatbin", ".nv.ptx", ".line", ".note", ".nv.note")
"""Beginnings of the names of sections that would tell the lifter more than machine code does."""
LENGTHS = (100, 200, 400, 800, 1_000_000)
"""Bounds of the classes of length, in instructions of a program's kernels."""


@dataclass(frozen=True)
class Bench:
    """What all programs of one run share."""

    arch: str
    target: str
    runs: tuple[str, ...]
    keep: Path
    seeds: Path | None
    """The folder of programs with changed inputs."""

    def results(self) -> Path:
        return self.keep / f"{self.arch}-{self.target}"


def _key(program: BenchProgram) -> str:
    """Return a name for a program's text, which its comments do not change."""
    return hashlib.sha256(_COMMENTS.sub("", program.source).encode()).hexdigest()[:12]


def cubin_of(program: BenchProgram, arch: str, keep: Path) -> Path | str:
    """Return a program's cubin, built once, or why nvcc refuses it."""
    folder = keep / "cubins" / arch
    cubin, refused = (folder / f"{program.name}-{_key(program)}{e}" for e in (".cubin", ".txt"))
    if cubin.exists():
        return cubin
    if not refused.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"{program.name}.cu"
        source.write_text(program.source)
        flags = ("-cubin", f"-arch={arch}")
        built = nvidia.nvcc(source, cubin, flags=flags, includes=(PROGRAMS,))
        source.unlink()
        if built.is_built:
            strip(cubin)
            return cubin
        refused.write_text("\n".join(built.errors[:1]))
    return refused.read_text()


def strip(cubin: Path) -> None:
    """Overwrite with zeros all that a cubin holds besides its machine code and the data of that."""
    from elftools.elf.elffile import ELFFile

    data = bytearray(cubin.read_bytes())
    for section in ELFFile(BytesIO(data)).iter_sections():
        if section.name.startswith(TEXTS):
            begin, size = section["sh_offset"], section["sh_size"]
            data[begin : begin + size] = bytes(size)
    cubin.write_bytes(data)


def code_of(cubin: Path) -> list[bytes]:
    """Return the machine code of each function of a cubin."""
    from elftools.elf.elffile import ELFFile

    with cubin.open("rb") as file:
        sections = ELFFile(file).iter_sections()
        return [section.data() for section in sections if section.name.startswith(".text.")]


def evaluated(program: BenchProgram, bench: Bench) -> dict[str, object]:
    """Return a program's status in each run, with its domain and the work that was done."""
    cubin = cubin_of(program, bench.arch, bench.keep)
    if isinstance(cubin, str):
        return dict.fromkeys(bench.runs, NOT_BUILT) | {"said": [cubin]}
    began = time.perf_counter()
    if not code_of(cubin):
        return dict.fromkeys(bench.runs, NO_KERNEL)
    lifted = lift(cubin)
    said: dict[str, object] = {
        "cubin_sha256": hashlib.sha256(cubin.read_bytes()).hexdigest(),
        "kernels": len(lifted.kernels),
        "instructions": sum(kernel.n_instructions for kernel in lifted.kernels),
        "lift_s": time.perf_counter() - began,
    }
    if lifted.unlifted:
        texts = dict.fromkeys(found.text for found in lifted.unlifted)
        return said | dict.fromkeys(bench.runs, NOT_LIFTED) | {"said": list(texts)[:4]}
    folder = bench.keep / "work" / bench.results().name / program.name
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    try:
        code = assemble(lifted, bench.target, folder)
    except machine.BuildError as error:
        return said | dict.fromkeys(bench.runs, NOT_BUILT) | {"said": [str(error)[:300]]}
    said["assemble_s"] = time.perf_counter() - began
    if "twin" in bench.runs:
        said |= _twin(program, lifted, bench.keep)
    if "isa" in bench.runs:
        said |= _instructions(program, code, bench)
    seeded = bench.seeds / f"{program.name}.cu" if bench.seeds else None
    if said.get("isa") == RIGHT and seeded is not None and seeded.exists():
        again = _instructions(read_program(seeded), code, bench)
        said |= {key: again[key] for key in ("isa", "isa_said") if key in again}
        said |= {"seeded": again}
    return said


def _host(
    program: BenchProgram, kind: str, keep: Path, build: Callable[[Path], Path]
) -> Path | str:
    """Return a program's host, built once for all architectures and one version of the
    emulator, or why it cannot be built."""
    emulator = hashlib.sha256(str(bridge()).encode()).hexdigest()[:6]
    folder = keep / kind / f"{program.name}-{_key(program)}-{emulator}"
    if not (folder / "program").exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            build(folder)
        except machine.BuildError as error:
            return str(error)[:300]
    return folder / "program"


def _twin(program: BenchProgram, lifted: LiftedProgram, keep: Path) -> dict[str, object]:
    folder = keep / "twins" / f"{program.name}-{lifted.arch}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        built = host_with_twin(lifted, program.source, folder, includes=(PROGRAMS,))
    except machine.BuildError as error:
        return {"twin": NOT_BUILT, "twin_said": str(error)[:300]}
    run = machine.run(built, how=machine.Running(limit_s=LIMIT_S))
    return _judged("twin", program, run, bool(called_of(run.errors)))


def _instructions(program: BenchProgram, code: Assembled, bench: Bench) -> dict[str, object]:
    built = _host(
        program,
        "hosts",
        bench.keep,
        lambda folder: host_of_instructions(program.source, folder, includes=(PROGRAMS,)),
    )
    if isinstance(built, str):
        return {"isa": NOT_BUILT, "isa_said": built}
    report = code.code_object.with_suffix(".json")
    report.unlink(missing_ok=True)
    variables = environment([listing_of(code.code_object, code.code_object.parent)], report)
    how = machine.Running(limit_s=LIMIT_S, environment=variables)
    began = time.perf_counter()
    run = machine.run(built, how=how)  # to its host, the kernels have warps of 32 lanes
    took_s = time.perf_counter() - began
    done = executed(report)
    if done.fault:
        kind = GAP if done.fault.startswith(GAP) else WRONG
        return {"isa": kind, "isa_said": done.fault[:300]}
    told = _judged("isa", program, run, bool(done.instructions))
    return told | {"executed": done.instructions, "run_s": took_s}


def _judged(
    name: str, program: BenchProgram, run: machine.EmulatedRun, has_run: bool
) -> dict[str, object]:
    if run.exit_code == 0 and run.output.strip() == program.expected:
        return {name: RIGHT if has_run else UNRUN}
    if run.exit_code == machine.LATE:
        return {name: LATE}
    said = f"exit {run.exit_code}, {run.output.strip()[:120]!r}, {run.errors[-120:]!r}"
    return {name: WRONG, f"{name}_said": said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--to", default="gfx1100", choices=list(TARGETS))
    parser.add_argument("--only", nargs="*", default=[], help="names or domains of programs")
    parser.add_argument("--runs", nargs="*", default=["isa"], choices=("twin", "isa"))
    parser.add_argument("--families", type=Path, help="the folder that port_families.py wrote")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="run nothing, print what is known")
    options = parser.parse_args()
    seeds = options.families / "seeds" if options.families else None
    bench = Bench(options.arch, options.to, tuple(options.runs), options.keep, seeds)
    bench.results().mkdir(parents=True, exist_ok=True)
    own = {program.name: program for program in chosen([])}
    programs = list(own.values())
    if options.families:
        programs += map(read_program, sorted(options.families.glob("*.cu")))
    if unknown := set(options.only) - {word for p in programs for word in (p.name, p.domain)}:
        parser.error(f"no program or domain: {', '.join(sorted(unknown))}")
    if options.only:
        programs = [p for p in programs if {p.name, p.domain} & set(options.only)]
    for program in programs if not options.show else ():
        path = bench.results() / f"{program.name}.json"
        if not path.exists():
            found = evaluated(program, bench)
            path.write_text(json.dumps({"domain": program.domain} | found, indent=1))
            print(program.name, {k: found[k] for k in bench.runs if k in found}, flush=True)
    for folder in sorted(options.keep.glob("sm_*-gfx*")) if options.show else (bench.results(),):
        print(f"\n{folder.name}")
        _show({path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}, set(own))


def _show(known: dict[str, dict[str, object]], own: set[str]) -> None:
    families = {name: found for name, found in known.items() if name not in own}
    _counted("own programs", (found for name, found in known.items() if name in own))
    _counted("programs of families", families.values())
    _counted("all", known.values())
    twice = sum("seeded" in found and found["isa"] == RIGHT for found in known.values())
    print(f"{twice} of the right ones ran again on changed inputs")
    for domain in sorted({str(found["domain"]) for found in known.values()}):
        _counted(f"  {domain}", (f for f in known.values() if f["domain"] == domain))
    for least, most in itertools.pairwise((0, *LENGTHS)):
        sized = [f for f in known.values() if least <= int(str(f.get("instructions", -1))) < most]
        _counted(f"  {least} to {most - 1} instructions", sized)
    for name, found in sorted(known.items()):
        if found.get("isa") not in (RIGHT, *NOT_COUNTED):
            print(f"  {name}: {found.get('isa')}, {found.get('said') or found.get('isa_said')}")
    _rates([found for found in known.values() if "lift_s" in found])


def _counted(title: str, found: Iterable[dict[str, object]]) -> None:
    counts = Counter(str(each.get("isa")) for each in found)
    n = sum(k for word, k in counts.items() if word not in NOT_COUNTED)
    share = f"{counts[RIGHT] / n:6.1%} of {n}" if n else ""
    print(f"{title:28} {share:16} " + ", ".join(f"{counts[w]} {w}" for w in WORDS if counts[w]))


def _rates(done: Sequence[dict[str, object]]) -> None:
    def total(key: str) -> float:
        return sum(float(str(found.get(key, 0))) for found in done)

    if total("lift_s"):
        print(f"{total('kernels') / total('lift_s'):.1f} kernels and "
              f"{total('instructions') / total('lift_s'):,.0f} instructions lifted a second; "
              f"{total('assemble_s'):.1f} s to assemble all")  # fmt: skip
    if total("run_s"):
        print(f"{total('executed') / total('run_s'):,.0f} AMD instructions of waves a second, "
              "starts of programs included")  # fmt: skip


if __name__ == "__main__":
    main()
