"""Public programs: HeCBench's single-file CUDA programs through our translator and hipify-perl.

    python benchmarks/port_hecbench.py CHECKOUT [--seed 0] [--programs 60] [--hipify CHECKOUT]
                                       [--run SECONDS] [--json FILE]

Draws programs that exist as src/NAME-cuda and src/NAME-hip with one source file and no headers of
their own. Translates them and compiles the result for gfx90a (ours for gfx942 and gfx1100 as well);
with --run, also runs ours and the original under the emulation, the numbers among the arguments
made smaller by tens until the original ends in time there. HeCBench's own HIP is compiled
beside. Programs that want a header that is nowhere here are counted apart: they say nothing of a
port.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

from kernelwright.dialects.simt import machine
from kernelwright.hipify import State, translate
from kernelwright.port.emulated import RunOptions, emulates
from kernelwright.port.ladder import RungStatus, compiles
from kernelwright.port.programs import Program

ALL_TARGETS = ("gfx90a", "gfx942", "gfx1100")


def drawn(checkout: Path, seed: int, count: int) -> list[Path]:
    """Sources of the programs drawn, in the order of the draw."""
    found = []
    for folder in sorted((checkout / "src").glob("*-cuda")):
        sources = [
            p for p in folder.rglob("*") if p.suffix in (".cu", ".cuh", ".h", ".hpp", ".cpp")
        ]
        twin = folder.with_name(folder.name.removesuffix("-cuda") + "-hip")
        if len(sources) == 1 and sources[0].suffix == ".cu" and len(list(twin.glob("*.cu"))) == 1:
            found.append(sources[0])
    print(f"{len(found)} single-file programs; {count} drawn with seed {seed}")
    return random.Random(seed).sample(found, min(count, len(found)))


def compiled(text: str, name: str, targets: tuple[str, ...]) -> tuple[str, list[str]]:
    """'built', 'no header' or 'failed', with the first errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.hip")
        path.write_text(text, errors="surrogateescape")
        rung = compiles(path, targets=targets, includes=(), flags=())
    said = {RungStatus.PASSED: "built", RungStatus.NOT_CHECKED: "no header"}
    return said.get(rung.status, "failed"), list(rung.details)[:4]


def arguments(source: Path) -> list[str]:
    """The arguments of the Makefile's run target."""
    makefile = source.parent / "Makefile"
    text = makefile.read_text(errors="replace") if makefile.exists() else ""
    match = re.search(r"^\t.*\./\$\(program\)(.*)$", text, re.MULTILINE)
    return match[1].split() if match else []


def small_enough(source: Path, limit_s: float) -> list[str]:
    """The program's arguments, its numbers divided by 1, 10, 100 ... until it ends in time here."""
    given = arguments(source)
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = machine.build(
                source.read_text(errors="surrogateescape"), folder=Path(folder), is_checked=False
            )
        except machine.BuildError:
            return given
        for divisor in (1, 10, 100, 1000, 10000):
            fewer = [str(max(1, int(w) // divisor)) if w.isdigit() else w for w in given]
            if machine.run(program, how=machine.Running(tuple(fewer), limit_s)).exit_code == 0:
                return fewer
    return given


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--hipify", type=Path)
    parser.add_argument("--run", type=float, default=0.0, help="seconds for one run at rung 2")
    parser.add_argument("--arch", default=",".join(ALL_TARGETS), help="AMD targets for ours")
    parser.add_argument("--skip-own", action="store_true", help="without HeCBench's own HIP")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    spent_s: collections.Counter[str] = collections.Counter()
    targets = tuple(target for target in options.arch.split(",") if target)
    kept = []
    for source in drawn(options.checkout, options.seed, options.programs):
        name = source.parent.name.removesuffix("-cuda")
        text = source.read_text(errors="surrogateescape")
        start = time.process_time()
        translation = translate(text, file=source.name)
        spent_s["ours"] += time.process_time() - start
        twin = next((source.parent.parent / f"{name}-hip").glob("*.cu"))
        texts = {"ours": translation.text}
        if not options.skip_own:
            texts["own HIP"] = twin.read_text(errors="surrogateescape")
        if options.hipify:
            start = time.perf_counter()
            texts["hipify-perl"] = subprocess.run(
                ["perl", str(options.hipify / "bin/hipify-perl"), str(source)],
                capture_output=True, text=True, errors="surrogateescape", check=False,
            ).stdout  # fmt: skip
            spent_s["hipify-perl"] += time.perf_counter() - start
        row: dict[str, object] = {"name": name, "unported": [str(f) for f in translation.unported]}
        for who, ported in texts.items():
            status, errors = compiled(ported, name, targets if who == "ours" else ("gfx90a",))
            counts[who][status] += 1
            row[who] = [status, errors]
            if who == "ours":
                said = "reported" if translation.unported else "silent"
                counts["ours, by report"][f"{status}, {said}"] += 1
        counts["hazards repaired"]["programs"] += translation.count(State.REPAIRED) > 0
        if options.run:
            words = small_enough(source, options.run / 5)
            running = RunOptions(tuple(words), limit_s=options.run)
            rung = emulates(Program.of(text), Program.of(translation.text), running)
            counts["rung 2"][str(rung.status)] += 1
            row["rung 2"] = [str(rung.status), list(rung.details)[:4], words]
        kept.append(row)
        print(json.dumps(row)[:400], flush=True)
    for who, count in counts.items():
        print(who, dict(count))
    print({who: f"{options.programs / s:.2f} files/s" for who, s in spent_s.items()})
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
