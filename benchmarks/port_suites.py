"""Programs of public suites, drawn by a seed: ported, compiled, run at both widths and compared.

    python benchmarks/port_suites.py hecbench CHECKOUT --programs 60 --seed 46 --json hec.json
    python benchmarks/port_suites.py samples CHECKOUT --programs 30 --seed 46 --json samples.json
    python benchmarks/port_suites.py hecbench CHECKOUT --hipify bin/hipify-perl --like hec.json

HeCBench is https://github.com/zjin-lcf/HeCBench (folders ``src/*-cuda``), the samples are
https://github.com/NVIDIA/cuda-samples (folders with a ``.cu`` file). Each program is run with the
arguments that its makefile gives, numbers capped until the original ends in time under the
emulation. With ``--json`` a later call goes on where an earlier one stopped. ``--hipify`` has
hipify-perl translate instead of this project.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from port_sizes import fit, shrink

from kernelwright.core.errors import KernelwrightError
from kernelwright.dialects.simt import machine
from kernelwright.hipify.warp_synchrony import in_step
from kernelwright.port import PortOptions, RungStatus, port_with
from kernelwright.port.build_flags import NO_FLAGS, Flags, nearest_folders
from kernelwright.port.compared import workplace
from kernelwright.port.emulated import RunOptions, emulates, shown
from kernelwright.port.exact import read_exact
from kernelwright.port.ladder import DeviceUnit, Rung, compiles
from kernelwright.port.programs import Builder, Program, Unit
from kernelwright.port.project import NO_MAIN
from kernelwright.port.reach import folders_of_headers, inclusions
from kernelwright.port.tree import UNITS, files_of, headers_of, is_build_file, is_code

TARGETS = "gfx942,gfx90a,gfx1100"
CAPS = (4096, 256, 16, 1)
"""Largest numbers among a program's arguments, tried in order."""
MEMORY_BYTES = 8 << 30
"""Address space of one process: a program that is capped too little fails, not the machine."""
N_SAID = 4
"""Messages kept of each rung."""

# Statuses of a program at rung 1 and 2.
COMPILES, NO_HEADER = "compiles", "header of others missing"
LEFT, REFUSED, STAND_IN = "not translated", "does not compile", "our stand-in of a header lacks it"
AGREED, EMPTY, DIFFERS = "agreed", "ran, nothing to compare", "differs or faults"
LATE, ORIGINAL, ABSENT = "time limit", "original fails too", "not run here"
UNBUILT = "port does not build for the emulation"


@dataclass(frozen=True)
class Case:
    """One program of a suite, in a scratch copy."""

    root: Path
    """The folder that is ported: the program's and those that it takes headers from."""
    place: Path
    """The program's own folder."""
    arguments: tuple[str, ...]
    flags: Flags


def hecbench(checkout: Path) -> dict[str, Path]:
    """Return HeCBench's CUDA programs by name."""
    return {p.name.removesuffix("-cuda"): p for p in sorted(checkout.glob("src/*-cuda"))}


def samples(checkout: Path) -> dict[str, Path]:
    """Return the CUDA samples with device code in files of its own, by name."""
    found = sorted(p.parent for p in checkout.glob("Samples/[0-6]_*/*/CMakeLists.txt"))
    return {p.name: p for p in found if next(p.rglob("*.cu"), None)}


SUITES = {"hecbench": hecbench, "samples": samples}


def prepared(suite: str, place: Path, scratch: Path) -> Case:
    """Copy a program, and the folders beside it that it mentions, to ``scratch``."""
    root = scratch / "sources"
    if suite == "samples":
        own = root / "Samples" / place.parent.name / place.name
        shutil.copytree(place, own)
        shutil.copytree(place.parents[2] / "Common", root / "Common", ignore=_no_units)
        arguments = _sample_arguments(place)
        flags = Flags((root / "Common",))
    else:
        own = root / place.name
        shutil.copytree(place, own, symlinks=True)
        _copy_mentioned(place, root)
        arguments, flags = (), NO_FLAGS
    fit(own, place.name.removesuffix("-cuda"))
    if suite != "samples":
        make = _make_text(own)
        arguments, flags = _run_line(make), _make_flags(make, own)
    return Case(root, own, arguments, flags)


def _no_units(_: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if Path(name).suffix in UNITS]


def _copy_mentioned(place: Path, root: Path) -> None:
    """Copy the folders beside ``place`` that its files mention, without units that they do not."""
    texts = [read_exact(p) for p in place.rglob("*") if p.is_file() and _is_text(p)]
    words = {word for text in texts for word in re.findall(r"\.\./([\w+.-]+(?:/[\w+./-]+)?)", text)}
    for name in {word.split("/")[0] for word in words} - {".", ".."}:
        beside = place.parent / name
        if beside.is_dir() and beside != place:
            shutil.copytree(
                beside, root / name, symlinks=True, ignore=_no_units, dirs_exist_ok=True
            )
    for word in words:
        found = place.parent / word
        if found.is_file() and found.suffix in UNITS and (root / word).parent.is_dir():
            shutil.copyfile(found, root / word)


def _is_text(path: Path) -> bool:
    return path.suffix in (*UNITS, ".h", ".hpp", ".cuh") or is_build_file(path)


def _make_text(place: Path) -> str:
    """Return the makefile outside its conditions, variables replaced by their values."""
    path = place / "Makefile"
    raw = read_exact(path).replace("\\\n", " ") if path.exists() else ""
    lines, depth = [], 0
    for line in raw.splitlines():
        word = line.split()[0] if line.split() else ""
        depth += word in ("ifeq", "ifneq", "ifdef", "ifndef")
        if not depth:
            lines.append(line)
        depth -= word == "endif"
    text = "\n".join(lines)
    known = dict(re.findall(r"^(\w+)\s*[:?]?=[ \t]*(\S+)[ \t]*$", text, re.MULTILINE))
    return re.sub(r"\$[({](\w+)[)}]", lambda m: known.get(m[1], m[0]), text)


def _run_line(make: str) -> tuple[str, ...]:
    """Return the arguments of the first command of the target ``run``."""
    found = re.search(r"^run:.*\n((?:\t.*\n?)+)", make, re.MULTILINE)
    line = re.search(r"\./[\w$()./-]+(.*)", found[1]) if found else None
    words = shlex.split(line[1].split("|")[0].split(">")[0]) if line else []
    return tuple(word for word in words if "$" not in word)


def _make_flags(make: str, own: Path) -> Flags:
    includes = re.findall(r"(?<!\S)-I\s*([^\s$]+)", make)
    defines = re.findall(r"(?<!\S)-D\s*([^\s$]+)(?=\s|$)", make)
    return Flags(tuple((own / i).resolve() for i in includes), tuple(dict.fromkeys(defines)))


def _sample_arguments(place: Path) -> tuple[str, ...]:
    known = json.loads((place.parents[2] / "test_args.json").read_text()).get(place.name, {})
    first = (known.get("runs") or [known])[0]
    return tuple(first.get("args", ()))


def capped(words: Sequence[str], cap: int) -> tuple[str, ...]:
    """Return arguments with no number over ``cap``; of several, the last mostly counts repetitions,
    and is 1."""
    numbers = [i for i, word in enumerate(words) if word.isdigit()]
    caps = dict.fromkeys(numbers, cap) | ({numbers[-1]: 1} if len(numbers) > 1 else {})
    return tuple(str(min(int(w), caps[i])) if i in caps else w for i, w in enumerate(words))


class Sources:
    """The units of a case's tree, as ``port`` would compile and link them."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case, self.root = case, root
        names = files_of(root, root.parent / "none")
        units = [p for p in root.rglob("*") if p.is_file() and p.suffix in UNITS]
        texts = {p: read_exact(p) for p in {*names, *units} if is_code(p)}
        self._folders = folders_of_headers(headers_of(root, root.parent / "none"), texts)
        parts = set().union(*inclusions(texts).values())
        self.texts = {p: t for p, t in texts.items() if p.suffix in UNITS and p not in parts}

    def unit(self, path: Path) -> Unit:
        name, given = str(path.relative_to(self.root)), self.case.flags
        beside = nearest_folders(self._folders, path.parent).with_folder(path.parent)
        own = tuple(self.root / p.relative_to(self.case.root) if p.is_relative_to(self.case.root)
                    else p for p in given.includes)  # fmt: skip
        return Unit(name, self.texts[path], Flags((*beside.includes, *own), given.defines))

    def programs(self) -> dict[str, Program]:
        """Return the programs of the case's own folder, by the path of their main unit."""
        place = self.root / self.case.place.relative_to(self.case.root)
        units = {p: self.unit(p) for p in self.texts}
        others = tuple(u for u in units.values() if not u.is_program)
        mains = {u.name: u for p, u in units.items() if u.is_program and p.is_relative_to(place)}
        return {name: Program(main, others) for name, main in sorted(mains.items())}


@dataclass(frozen=True)
class Small:
    """Arguments with which the original ends in time, or why there are none."""

    arguments: tuple[str, ...]
    status: str = ""
    said: str = ""


def small_enough(case: Case, limit_s: float) -> Small:
    """Return arguments with which the originals end in time under the emulation, with 0."""
    programs = Sources(case, case.root).programs()
    if not programs:
        return Small(case.arguments, ABSENT, "no file with a main function")
    last = Small(case.arguments)
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(Path(scratch, "built"), in_step)
        try:
            built = [builder.build(program)[0] for program in programs.values()]
        except machine.BuildError as error:
            return Small(case.arguments, ABSENT, f"the original: {error}"[:600])
        tried = [case.arguments, *(capped(case.arguments, cap) for cap in CAPS)]
        if any(word.isdigit() and int(word) > CAPS[0] for word in case.arguments):
            tried = tried[1:]
        for i, words in enumerate(dict.fromkeys(tried)):
            place = workplace(case.place, Path(scratch, str(i)))
            runs = [
                machine.run(b, how=machine.Running(words, limit_s, folder=place)) for b in built
            ]
            ends = [run.exit_code for run in runs]
            if all(end == 0 for end in ends):
                return Small(words)
            late = any(end in (machine.LATE, machine.HANG) for end in ends)
            said = " | ".join((run.errors or run.output)[-200:] for run in runs if run.exit_code)
            last = Small(words, LATE if late else ORIGINAL, f"{words} ends with {ends}: {said}")
    return last


def found_now(case: Case, limit_s: float) -> tuple[Small, bool]:
    """Return arguments with which the original ends in time, and whether it was shrunk for that."""
    small = small_enough(case, limit_s)
    if small.status != LATE:
        return small, False
    shrink(case.place)
    return small_enough(case, limit_s), True


def found_before(case: Case, row: Mapping[str, Any]) -> tuple[Small, bool]:
    """Return what an earlier run found for the same original."""
    if row["shrunk"]:
        shrink(case.place)
    has_run = row["emulate"] in (AGREED, EMPTY, DIFFERS, UNBUILT)
    said = "; ".join(row["emulate says"])
    return Small(tuple(row["arguments"]), "" if has_run else row["emulate"], said), row["shrunk"]


def climbed(
    case: Case, options: argparse.Namespace, earlier: Mapping[str, Any] | None
) -> dict[str, object]:
    """Port one program and return its statuses, with what was said of it."""
    small, is_shrunk = found_before(case, earlier) if earlier else found_now(case, options.small)
    asked = [int(number) for number in options.rungs.split(",")]
    numbers = tuple(n for n in asked if n < 2 or not small.status)
    if options.hipify:
        lint, compiled, run = by_perl(case, small, numbers, options)
        on_gpu = []
    else:
        running = RunOptions(small.arguments, folder=case.place, limit_s=options.limit)
        report = port_with(
            case.root,
            PortOptions(
                targets=tuple(options.arch.split(",")),
                rungs=numbers,
                running=running,
                flags=case.flags,
            ),
        )
        own = str(case.place.relative_to(case.root))
        files = [f for f in report.files if f.path.startswith(f"{own}/")]
        lint = [d for f in files for r in f.rungs if r.name == "lint" for d in r.details]
        compiled = [r for f in files for r in f.rungs if r.name == "compile"]
        run = [r for f in files for r in f.rungs if r.name == "emulate" and r.units]
        run += [] if run else [r for f in files for r in f.rungs if r.name == "emulate"]
        on_gpu = [r for f in files for r in f.rungs if r.name == "nvidia" and r != NO_PROGRAM]
    rung_1 = worst([compile_status(rung, lint) for rung in compiled], RUNG_1)
    rung_2 = small.status or worst([run_status(rung) for rung in run], RUNG_2)
    return {
        "compile": rung_1 or ABSENT,
        "emulate": rung_2 or ABSENT,
        "nvidia": worst([str(rung.status) for rung in on_gpu], RUNG_3) or ABSENT,
        "arguments": small.arguments,
        "shrunk": is_shrunk,
        "values": [shown(rung) for rung in (*run, *on_gpu)],
        "left": lint[: 2 * N_SAID],
        "compile says": said_of(compiled),
        "emulate says": [small.said] if small.status else said_of(run),
        "nvidia says": said_of(on_gpu),
    }


def said_of(rungs: Sequence[Rung]) -> list[str]:
    return [d[:400] for r in rungs if r.status is not RungStatus.PASSED for d in r.details][:N_SAID]


def by_perl(
    case: Case, small: Small, numbers: Sequence[int], options: argparse.Namespace
) -> tuple[list[str], list[Rung], list[Rung]]:
    """Return what the rungs say of hipify-perl's translation of the same files."""
    ported = case.root.parent / "ported"
    shutil.copytree(case.root, ported, symlinks=True)
    for path, name in files_of(case.root, ported).items():
        if is_code(path) and path.suffix != ".py":
            command = ["perl", str(options.hipify), str(path)]
            done = subprocess.run(command, capture_output=True, check=False)
            (ported / name).write_bytes(done.stdout)
    after, before = Sources(case, ported), Sources(case, case.root)
    own = ported / case.place.relative_to(case.root)
    flags = {p: after.unit(p).flags for p in after.texts if p.suffix == ".cu"}
    units = {p: DeviceUnit(p, f.includes, f.defines) for p, f in flags.items()}
    compiled = [
        compiles(
            unit,
            targets=options.arch.split(","),
            others=[other for other in units.values() if other != unit],
        )
        for p, unit in units.items()
        if p.is_relative_to(own)
    ]
    if 2 not in numbers:
        return [], compiled, []
    running = RunOptions(small.arguments, folder=case.place, limit_s=options.limit)
    originals, ports = before.programs(), after.programs()
    return [], compiled, [emulates(o, ports[name], running) for name, o in originals.items()]


_OF_CUDA = re.compile(r"'(cu\w*|nv\w*|mma|device_\w+)[./][\w./]*' file not found")
"""A header of CUDA's that a translator left: nobody has that on AMD."""
RUNG_1 = (REFUSED, LEFT, STAND_IN, NO_HEADER, COMPILES)
RUNG_2 = (UNBUILT, DIFFERS, LATE, ORIGINAL, ABSENT, EMPTY, AGREED)
NO_PROGRAM = Rung("nvidia", RungStatus.NOT_CHECKED, (NO_MAIN,))
RUNG_3 = tuple(str(RungStatus[name]) for name in ("FAILED", "NOT_CHECKED", "RAN", "PASSED"))


def worst(statuses: Sequence[str], order: Sequence[str]) -> str:
    return min(statuses, key=order.index, default="")


def compile_status(rung: Rung, left: Sequence[str]) -> str:
    if rung.status is RungStatus.PASSED:
        return COMPILES
    is_of_cuda = any(_OF_CUDA.search(d) for d in rung.details)
    if rung.status is RungStatus.NOT_CHECKED and not is_of_cuda:
        is_absent = all("file not found" in d for d in rung.details)
        return NO_HEADER if is_absent else STAND_IN
    return LEFT if left else REFUSED


def run_status(rung: Rung) -> str:
    """Return the status of a program at rung 2; a fault that the original has too is the
    original's."""
    if rung.status is RungStatus.PASSED:
        return AGREED
    if rung.status is RungStatus.RAN:
        return EMPTY
    if rung.status is RungStatus.AS_ORIGINAL:
        return ORIGINAL
    said = [d for d in rung.details if not d.startswith("the original too")]
    if rung.status is RungStatus.NOT_CHECKED:
        return _unchecked(said[0] if said else "")
    if any("as in the original" in d for d in said):
        return ORIGINAL
    return LATE if all("exceeds the time limit" in d for d in said) else DIFFERS


def _unchecked(why: str) -> str:
    if why.startswith("the port:"):
        return UNBUILT
    if "time limit" in why:
        return LATE
    return ABSENT if "does not build here" in why or "no program" in why else ORIGINAL


def rows_of(names: Mapping[str, Path], options: argparse.Namespace) -> Iterator[tuple[str, dict]]:
    """Yield the row of each program; each is ported by a process of its own."""

    children: set[subprocess.Popen] = set()

    def row(name: str) -> tuple[str, dict]:
        start = time.perf_counter()
        command = [sys.executable, __file__, *sys.argv[1:], "--row", name]
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.add(child)
        try:
            out, errors = child.communicate(timeout=options.case_limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            out, errors = "", f"the whole program took over {options.case_limit} s"
        children.discard(child)
        lines = out.splitlines()
        found = json.loads(lines[-1]) if lines else {
            "compile": ABSENT, "emulate": LATE if "took over" in errors else ABSENT,
            "emulate says": errors.splitlines()[-3:],
        }  # fmt: skip
        return name, found | {"seconds": round(time.perf_counter() - start, 1)}

    pool = ThreadPoolExecutor(options.jobs)
    try:
        yield from pool.map(row, names)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in list(children):  # they have sessions of their own, which no Ctrl-C reaches
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def one_row(place: Path, options: argparse.Namespace) -> None:
    if "3" not in options.rungs:  # CUDA's driver reserves more addresses than that
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            case = prepared(options.suite, place, Path(scratch))
            rows = json.loads(options.like.read_text()) if options.like else {}
            found = climbed(case, options, rows.get(options.row))
        except KernelwrightError as error:
            found = {"compile": ABSENT, "emulate": ABSENT, "emulate says": [str(error)]}
    print(json.dumps(found))


def table(rows: Mapping[str, Mapping[str, object]]) -> None:
    for rung in ("compile", "emulate", "nvidia"):
        counts = collections.Counter(str(row.get(rung, ABSENT)) for row in rows.values())
        print(f"{rung}, of {len(rows)}:")
        for status, n in counts.most_common():
            print(f"  {n:4} {status}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--only", help="names of programs, with commas between, instead of a draw")
    parser.add_argument("--hipify", type=Path, help="bin/hipify-perl of a checkout of HIPIFY")
    parser.add_argument("--rungs", default="0,1,2", help="3: on an NVIDIA GPU, by our HIP headers")
    parser.add_argument("--arch", default=TARGETS, help="AMD targets")
    parser.add_argument("--like", type=Path, help="JSON of a run whose arguments are taken over")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--small", type=float, default=5.0, help="seconds in which originals end")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--case-limit", type=float, default=600.0, help="seconds for one program")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = SUITES[options.suite](options.checkout)
    if options.row:
        return one_row(known[options.row], options)
    drawn = random.Random(options.seed).sample(list(known), min(options.programs, len(known)))
    drawn = options.only.split(",") if options.only else drawn
    print(f"{len(known)} programs; {len(drawn)} of them, seed {options.seed}")
    kept = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    rows = {name: kept[name] for name in drawn if name in kept}
    left = {name: known[name] for name in drawn if name not in rows}
    for name, row in rows_of(left, options):
        rows[name] = row
        print(f"{name}: {json.dumps(row)[:700]}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(kept | rows, indent=1))
    table(rows)
    return None


if __name__ == "__main__":
    main()
