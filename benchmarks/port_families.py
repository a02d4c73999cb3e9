"""Families of the port bench's programs: the same program with another number or type in it.

    python benchmarks/port_families.py FOLDER --keep KEEP [--most 369] [--seed 47]

Three changes are made, each in the whole file, so that a program's own check changes with it:

- another *number* in device code: sizes of blocks and tiles, counts, constants;
- another *type*: float to double or double to float;
- other *inputs*: a number of the host's that the inputs are made of.

A program is kept if it runs without complaints under the checked emulation, in two orders of
threads, with one output in which its own check passes. That output is what it is expected to print.
A member of a family is kept only if its machine code for sm_80 differs from that of all others of
its family; a program with other inputs only if its machine code stays the same. Members go to
FOLDER, programs with other inputs to FOLDER/seeds. Each says in its first lines what was changed.
A later call goes on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from port_assembly import code_of, cubin_of

from kernelwright.bench.port_bench.program import PROGRAMS, BenchProgram, programs
from kernelwright.core.errors import KernelwrightError
from kernelwright.dialects.simt import machine

CODE = "sm_80"
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_INPUTS = re.compile(r"^.*\bfor \(.*\] = .*$", re.MULTILINE)
_FIXED = re.compile(r"cuda|printf|const int|<<<|#include|sizeof")
_BYTES = re.compile(r"^.*\bcuda(?:Malloc|Memcpy|Memset)\w*\(.*$", re.MULTILINE)
_NARROW = re.compile(r"\bfloat[234]\b|half|bfloat|__float|__int_as|f16|tex|cublas|asm|\bcub\b")
_SINGLE = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?)f\b")
_FUNCTIONS = re.compile(
    r"\b(exp|log|sqrt|rsqrt|sin|cos|tan|tanh|pow|fabs|fma|fmax|fmin|floor|ceil)f\("
)
_HEAD = re.compile(r"^// (domain|hazards|expect): .*\n", re.MULTILINE)
KEPT = (0, 1, 2, 3, 4, 31, 32)
"""Numbers that stay: sizes of types, dimensions, and the lanes of a warp."""
WRONG = re.compile(r"WRONG|wrong [1-9]|nan|error", re.IGNORECASE)
LIMIT_S = 20.0
MOST_OF_ONE = 3
"""Members of one family, at most, besides the bench's own program."""


@dataclass(frozen=True)
class Change:
    """One way to change a program; ``what`` says it in words."""

    what: str
    source: str


def numbers(text: str) -> list[int]:
    """Return the integers of a text, each once, without those that stay."""
    found = dict.fromkeys(int(number) for number in _NUMBER.findall(text))
    return [n for n in found if n not in KEPT and n < 1 << 20]


def with_number(text: str, old: int, new: int) -> str:
    """Return a program with another number; the mask below a power of two goes with it."""
    by = {str(old): str(new)}
    if old & (old - 1) == 0:
        by[str(old - 1)] = str(new - 1)
    return _NUMBER.sub(lambda found: by.get(found[0], found[0]), text)


def members(program: BenchProgram, draw: random.Random) -> Iterator[Change]:
    """Yield changes of device code, in an order drawn by the seed."""
    text = _HEAD.sub("", program.source)
    device, main, host = text.partition("int main(")
    found = []
    for n in numbers(device):
        is_power = n & (n - 1) == 0
        for new in (n * 2, n // 2) if is_power else (n + draw.randrange(1, 9), n - 1):
            if 2 < new <= (1024 if is_power else 1 << 20):
                found.append(Change(f"{n} is {new}", with_number(text, n, new)))
    if not _NARROW.search(text):
        if re.search(r"\bfloat\b", device):
            found.append(Change("float is double", as_double(text)))
        elif re.search(r"\bdouble\b", device):
            found.append(Change("double is float", as_single(device) + main + as_single(host)))
    draw.shuffle(found)
    yield from found


def as_double(text: str) -> str:
    text = _FUNCTIONS.sub(r"\1(", _SINGLE.sub(r"\1", re.sub(r"\bfloat\b", "double", text)))
    return _BYTES.sub(lambda line: re.sub(r"\* 4\b", "* 8", line[0]), text)


def as_single(text: str) -> str:
    text = re.sub(r"\bdouble\b", "float", text)
    return _BYTES.sub(lambda line: re.sub(r"\* 8\b", "* 4", line[0]), text)


def with_inputs(program: BenchProgram, draw: random.Random) -> Iterator[Change]:
    """Yield programs with another number in the host's lines that make inputs."""
    text = _HEAD.sub("", program.source)
    device, _, host = text.partition("int main(")
    made = "\n".join(line for line in _INPUTS.findall(host.partition("<<<")[0])
                     if not _FIXED.search(line))  # fmt: skip
    kept = {*numbers(device), *numbers("\n".join(filter(_FIXED.search, host.splitlines())))}
    found = [n for n in numbers(made) if n not in kept and n & (n - 1)]
    draw.shuffle(found)
    for n in found:
        new = n + draw.randrange(1, 9)
        yield Change(f"{n} is {new}", with_number(text, n, new))


def output_of(source: str) -> str:
    """Return what a program prints, if it is a right one; else an empty text."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            built = machine.build(source, folder=Path(scratch), includes=(PROGRAMS,))
        except (machine.BuildError, KernelwrightError):
            return ""
        seen = set()
        for schedule in ("forward", "reverse"):
            run = machine.run(built, schedule=schedule, how=machine.Running(limit_s=LIMIT_S))
            if run.exit_code or run.complaints:
                return ""
            seen.add(run.output.strip())
    output = seen.pop()
    return output if not seen and "\n" not in output and not WRONG.search(output) else ""


def hash_of(program: BenchProgram, keep: Path) -> str:
    """Return a hash of a program's machine code; an empty text if nvcc refuses it."""
    cubin = cubin_of(program, CODE, keep)
    return "" if isinstance(cubin, str) else hashlib.sha256(b"".join(code_of(cubin))).hexdigest()


def kept(
    program: BenchProgram, name: str, change: Change, codes: set[str], keep: Path
) -> BenchProgram | None:
    """Return the changed program, if it is right and its machine code is not among ``codes``."""
    made = BenchProgram(name, program.domain, program.hazards, "", change.source)
    code = hash_of(made, keep)
    if not code or code in codes:
        return None
    output = output_of(change.source)
    if not output:
        return None
    codes.add(code)
    head = "".join(found[0] for found in _HEAD.finditer(program.source) if found[1] != "expect")
    head += f"// family: {program.name}: {change.what}\n// expect: {output}\n"
    return BenchProgram(name, program.domain, program.hazards, output, head + change.source)


def family(program: BenchProgram, folder: Path, keep: Path, seed: int) -> dict[str, object]:
    """Write the members of one family, and its program with other inputs; say how many."""
    draw = random.Random(f"{seed} {program.name}")
    own = hash_of(program, keep)
    if not own or output_of(program.source) != program.expected:
        return {"members": 0, "seeded": False}
    codes, n = {own}, 0
    for change in members(program, draw):
        if n == MOST_OF_ONE:
            break
        made = kept(program, f"{program.name}_v{n + 1}", change, codes, keep)
        if made is not None:
            n += 1
            (folder / f"{made.name}.cu").write_text(made.source)
            _seed(made, folder, keep, draw)
    return {"members": n, "seeded": _seed(program, folder, keep, draw)}


def _seed(program: BenchProgram, folder: Path, keep: Path, draw: random.Random) -> bool:
    code = hash_of(program, keep)
    for change in with_inputs(program, draw):
        made = kept(program, program.name, change, set(), keep)
        if made and made.expected != program.expected and hash_of(made, keep) == code:
            (folder / "seeds" / f"{program.name}.cu").write_text(made.source)
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, required=True, help="as port_assembly.py's")
    parser.add_argument("--most", type=int, default=369, help="programs, the bench's own included")
    parser.add_argument("--seed", type=int, default=47)
    options = parser.parse_args()
    (options.folder / "seeds").mkdir(parents=True, exist_ok=True)
    state = options.folder / "families.json"
    done = json.loads(state.read_text()) if state.exists() else {}
    order = list(programs())
    random.Random(options.seed).shuffle(order)
    for program in order:
        grown = sum(int(family["members"]) for family in done.values())
        if program.name not in done and len(order) + grown < options.most:
            done[program.name] = family(program, options.folder, options.keep, options.seed)
            state.write_text(json.dumps(done, indent=1))
            print(program.name, done[program.name], flush=True)
    grown = sum(int(family["members"]) for family in done.values())
    seeded = len(list((options.folder / "seeds").glob("*.cu")))
    print(f"{grown} members of families, {seeded} programs with other inputs")


if __name__ == "__main__":
    main()
