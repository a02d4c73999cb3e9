"""The port bench as machine code: built by nvcc, lifted, and run as a twin and as AMD instructions.

    python benchmarks/port_assembly.py --arch sm_80 --to gfx1100 --json sm80.json
    python benchmarks/port_assembly.py --arch sm_90 --only reduce --runs twin

The lifter is given a cubin, without source and PTX. A program counts only if its lifted kernels ran
and it printed exactly what is expected. With ``--json`` a later call goes on where an earlier one
stopped.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from kernelwright.bench.port_bench.program import PROGRAMS, BenchProgram, chosen
from kernelwright.core.errors import UsageError
from kernelwright.dialects import nvidia
from kernelwright.dialects.simt import machine
from kernelwright.isa import listing_of
from kernelwright.isa.host import environment, executed
from kernelwright.lift import LiftedProgram, lift
from kernelwright.lift.build import Assembled, assemble
from kernelwright.port.instructions import GAP, TARGETS
from kernelwright.port.lifted import called_of, host_of_instructions, host_with_twin

RIGHT, WRONG, UNRUN = "right", "wrong", "no lifted kernel ran"
NOT_LIFTED, NO_KERNEL, NOT_BUILT = "not lifted", "no kernel", "not built"
LIMIT_S = 120.0
RUNS = ("twin", "isa")


def evaluated(program: BenchProgram, arch: str, target: str, runs: list[str]) -> dict[str, object]:
    """Return a program's status in each run, with its domain and the work that was done."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, cubin = PROGRAMS / f"{program.name}.cu", folder / f"{program.name}.cubin"
        built = nvidia.nvcc(source, cubin, flags=("-cubin", f"-arch={arch}"))
        if not built.is_built:
            return dict.fromkeys(runs, NOT_BUILT) | {"said": list(built.errors[:1])}
        began = time.perf_counter()
        try:
            lifted = lift(cubin)
        except UsageError:
            return dict.fromkeys(runs, NO_KERNEL)
        said: dict[str, object] = {
            "kernels": len(lifted.kernels),
            "instructions": sum(kernel.n_instructions for kernel in lifted.kernels),
            "lift_s": time.perf_counter() - began,
        }
        if lifted.unlifted:
            texts = dict.fromkeys(found.text for found in lifted.unlifted)
            return said | dict.fromkeys(runs, NOT_LIFTED) | {"said": list(texts)[:4]}
        began = time.perf_counter()
        try:
            code = assemble(lifted, target, folder)
        except machine.BuildError as error:
            return said | dict.fromkeys(runs, NOT_BUILT) | {"said": [str(error)[:300]]}
        said["assemble_s"] = time.perf_counter() - began
        for run in runs:
            place = folder / run
            place.mkdir()
            said |= (
                _twin(program, lifted, place)
                if run == "twin"
                else _instructions(program, code, target, place)
            )
    return said


def _twin(program: BenchProgram, lifted: LiftedProgram, folder: Path) -> dict[str, object]:
    try:
        built = host_with_twin(lifted, program.source, folder, includes=(PROGRAMS,))
    except machine.BuildError as error:
        return {"twin": NOT_BUILT, "twin_said": str(error)[:300]}
    run = machine.run(built, how=machine.Running(limit_s=LIMIT_S))
    return _judged("twin", program, run, bool(called_of(run.errors)))


def _instructions(
    program: BenchProgram, code: Assembled, target: str, folder: Path
) -> dict[str, object]:
    try:
        built = host_of_instructions(program.source, folder, includes=(PROGRAMS,))
    except machine.BuildError as error:
        return {"isa": NOT_BUILT, "isa_said": str(error)[:300]}
    report = folder / "isa.json"
    variables = environment([listing_of(code.code_object, folder)], report)
    began = time.perf_counter()
    run = machine.run(
        built,
        width=TARGETS[target],
        how=machine.Running(limit_s=LIMIT_S, environment=variables),
    )
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
    said = f"exit {run.exit_code}, {run.output.strip()[:120]!r}, {run.errors[-120:]!r}"
    return {name: WRONG if has_run else UNRUN, f"{name}_said": said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--to", default="gfx1100", choices=list(TARGETS))
    parser.add_argument("--only", nargs="*", default=[], help="names or domains of programs")
    parser.add_argument("--runs", nargs="*", default=list(RUNS), choices=RUNS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    known = {}
    if options.json and options.json.exists():
        known = json.loads(options.json.read_text())
    for program in chosen(options.only):
        if program.name not in known:
            found = evaluated(program, options.arch, options.to, options.runs)
            known[program.name] = {"domain": program.domain} | found
            print(program.name, {k: found[k] for k in options.runs if k in found}, flush=True)
            if options.json:
                options.json.write_text(json.dumps(known, indent=1))
    _show(known, options.runs)


def _show(known: dict[str, dict[str, object]], runs: list[str]) -> None:
    for run in runs:
        counts = Counter(str(found.get(run)) for found in known.values())
        print(f"\n{run}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
        domains: dict[str, Counter[str]] = {}
        for found in known.values():
            domains.setdefault(str(found["domain"]), Counter())[str(found.get(run))] += 1
        for domain, each in sorted(domains.items()):
            print(f"  {domain:12} " + ", ".join(f"{n} {status}" for status, n in each.items()))
    done = [found for found in known.values() if "lift_s" in found]
    total = {key: sum(float(str(f.get(key, 0))) for f in done) for key in
             ("kernels", "instructions", "lift_s", "assemble_s", "executed", "run_s")}  # fmt: skip
    if total["lift_s"]:
        print(f"\n{total['kernels'] / total['lift_s']:.1f} kernels and "
              f"{total['instructions'] / total['lift_s']:,.0f} instructions lifted a second; "
              f"{total['assemble_s']:.1f} s to assemble all")  # fmt: skip
    if total["run_s"]:
        print(f"{total['executed'] / total['run_s']:,.0f} AMD instructions run a second")


if __name__ == "__main__":
    main()
