"""The port bench as PTX: compiled by nvcc, translated to HIP, and run beside the original.

    python benchmarks/port_ptx.py --json ptx.json
    python benchmarks/port_ptx.py --only reduce --arch sm_90

The translator is given nvcc's PTX alone. A program is "exact" at a width if kernels that were
translated ran and it printed what is expected. "Not translated": an instruction without a row.
"Emulator gap": the emulation lacks something that the program's host or kernels need. "Wrong" is
any other output. With ``--json`` a later call goes on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from kernelwright.bench.port_bench.program import PROGRAMS, BenchProgram, chosen
from kernelwright.dialects import nvidia
from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx.program import translate_ptx
from kernelwright.port.lifted import called_of
from kernelwright.port.ptx_programs import host_with_ptx

EXACT, WRONG, GAP = "exact", "wrong", "emulator gap"
NOT_TRANSLATED, NO_KERNEL, NOT_BUILT = "not translated", "no kernel of its own", "not built by nvcc"
LATE = "time limit"
LIMIT_S = 120.0


def evaluated(program: BenchProgram, arch: str) -> dict[str, object]:
    """Return a program's word at each width, and details."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, ptx = PROGRAMS / f"{program.name}.cu", folder / f"{program.name}.ptx"
        built = nvidia.nvcc(source, ptx, flags=("-ptx", f"-arch={arch}"))
        if not built.is_built:
            return _all(NOT_BUILT, built.errors[:1])
        text = ptx.read_text()
        translated = translate_ptx(text, name=ptx.name)
        if not translated.kernels:
            return _all(NO_KERNEL)
        said: dict[str, object] = {"kernels": len(translated.kernels), "lines": text.count("\n")}
        if translated.unported:
            constructs = dict.fromkeys(f"{f.construct}: {f.reason}" for f in translated.unported)
            return said | _all(NOT_TRANSLATED, list(constructs)[:4])
        try:
            path = host_with_ptx(translated, program.source, folder, includes=(PROGRAMS,))
        except machine.BuildError as error:
            return said | _all(GAP, [str(error)[:300]])
        for width in machine.WIDTHS:
            said |= _judged(program, path, width)
    return said


def _all(word: str, details: object = ()) -> dict[str, object]:
    return {str(width): word for width in machine.WIDTHS} | {"said": details}


def _judged(program: BenchProgram, path: Path, width: int) -> dict[str, object]:
    run = machine.run(path, width=width, how=machine.Running(limit_s=LIMIT_S))
    key = str(width)
    if not called_of(run.errors):
        word = NO_KERNEL if run.output.strip() == program.expected else WRONG
    elif run.exit_code == 0 and run.output.strip() == program.expected:
        word = EXACT
    else:
        word = LATE if run.exit_code == machine.LATE else WRONG
    found = {key: word}
    if word in (WRONG, LATE):
        found[f"said_{key}"] = (
            f"exit {run.exit_code}, {run.output.strip()[:120]!r}, {run.errors[-160:]!r}"
        )
    if run.complaints:
        found[f"complaints_{key}"] = "; ".join(
            sorted({f"{c.kind} at {c.place}" for c in run.complaints})
        )[:300]
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--only", nargs="*", default=[], help="names or domains of programs")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    known = {}
    if options.json and options.json.exists():
        known = json.loads(options.json.read_text())
    for program in chosen(options.only):
        if program.name not in known:
            found = evaluated(program, options.arch)
            known[program.name] = {"domain": program.domain} | found
            print(program.name, *(f"{w}: {found[str(w)]}" for w in machine.WIDTHS), flush=True)
            if options.json:
                options.json.write_text(json.dumps(known, indent=1))
    for width in map(str, machine.WIDTHS):
        counts = Counter(str(found[width]) for found in known.values())
        print(f"\n{width} lanes: " + ", ".join(f"{n} {word}" for word, n in counts.most_common()))


if __name__ == "__main__":
    main()
