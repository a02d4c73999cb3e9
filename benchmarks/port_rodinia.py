"""Rodinia's CUDA programs ported, compiled for AMD targets, run at both widths and compared.

    python benchmarks/port_rodinia.py RODINIA --common SAMPLES/Common --only bfs,nw --rungs 0,2

RODINIA is a checkout of https://github.com/yuhc/gpu-rodinia; its data sets are not in it, so small
inputs are made here, with a fixed seed. Each line is one program: its rungs, the number of values
that its kernels computed and that were compared, and what failed. Where there are nvcc and a GPU,
``--rungs 0,3`` runs the ports there, through the HIP header layer.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import KernelwrightError
from kernelwright.port import PortOptions, RungStatus, port_with
from kernelwright.port.build_flags import Flags
from kernelwright.port.emulated import RunOptions, shown

SEED = 7
ABSENT = "absent"
EXECUTED = ("emulate", "nvidia")
"""Rungs that run a program."""


def grid(low: float, high: float, n: int) -> str:
    return "".join(f"{random.uniform(low, high):.6f}\n" for _ in range(n))


def graph(folder: Path) -> None:
    n, degree = 64, 4
    rows = [f"{degree * i} {degree}" for i in range(n)]
    edges = [f"{random.randrange(n)} 1" for _ in range(n * degree)]
    (folder / "graph.txt").write_text("\n".join([str(n), *rows, "0", str(len(edges)), *edges]))


def tree(folder: Path) -> None:
    keys = list(range(1, 257))
    (folder / "keys.txt").write_text("\n".join([str(len(keys)), *map(str, keys)]) + "\n")
    (folder / "command.txt").write_text("j 8 4\nk 16\n")


def mesh(folder: Path) -> None:
    rows = ["64"]
    for i in range(64):
        beside = [
            f"{(i + k) % 64 + 1} {random.random():.4f} {random.random():.4f} 0.1" for k in range(4)
        ]
        rows.append(f"{1 + random.random():.4f} " + " ".join(beside))
    (folder / "mesh.txt").write_text("\n".join(rows) + "\n")


def temperatures(folder: Path) -> None:
    (folder / "temp").write_text(grid(323, 341, 64 * 64))
    (folder / "power").write_text(grid(0, 0.01, 64 * 64))


def temperatures_3d(folder: Path) -> None:
    (folder / "temp").write_text(grid(323, 341, 64 * 64 * 2))
    (folder / "power").write_text(grid(0, 0.01, 64 * 64 * 2))


def noise(folder: Path) -> None:
    (folder / "bytes.in").write_bytes(bytes(random.choices(range(32), k=16384)))


def floats(folder: Path) -> None:
    (folder / "floats.txt").write_text(grid(0, 1000, 4096))


def clusters(folder: Path) -> None:
    rows = [" ".join([str(i), *(f"{random.random():.4f}" for _ in range(8))]) for i in range(128)]
    (folder / "points.txt").write_text("\n".join(rows) + "\n")


def genomes(folder: Path) -> None:
    reference = "".join(random.choices("ACGT", k=600))
    (folder / "reference.fna").write_text(f">r\n{reference}\n")
    starts = [random.randrange(500) for _ in range(8)]
    reads = [f">q{i}\n{reference[at : at + 50]}\n" for i, at in enumerate(starts)]
    (folder / "query.fna").write_text("".join(reads))


def heart(folder: Path) -> None:
    (folder / "a/b").mkdir(parents=True)
    (folder / "data/myocyte").mkdir(parents=True)
    (folder / "data/myocyte/y.txt").write_text(grid(0.01, 1, 91))
    (folder / "data/myocyte/params.txt").write_text(grid(0.01, 1, 18))


def image(folder: Path) -> None:
    pixels = " ".join(str(random.randrange(1, 255)) for _ in range(32 * 32))
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "data/srad").mkdir(parents=True)
    (folder / "data/srad/image.pgm").write_text(f"P2\n32 32\n255\n{pixels}\n")


def rgb(folder: Path) -> None:
    pixels = bytes(random.randrange(256) for _ in range(64 * 64 * 3))
    (folder / "a/b").mkdir(parents=True)
    (folder / "data/dwt2d").mkdir(parents=True)
    (folder / "data/dwt2d/rgb.bmp").write_bytes(pixels)


def storms(folder: Path) -> None:
    rows = []
    for i in range(64):
        lat, lng = random.uniform(7, 64), random.uniform(0, 358)
        day = f"1950 {i % 12 + 1:2d} {i % 28 + 1:2d} 12 {i:03d}"
        rows.append(f"{day} STORM{i:04d} {lat:5.1f}{lng:5.1f} 40  900")
    (folder / "cane.db").write_text("".join(f"{row:<49}"[:48] + "\n" for row in rows))
    (folder / "list.txt").write_text("cane.db\n")


def video(folder: Path) -> None:
    """An uncompressed AVI of 8-bit grey frames, as Rodinia's reader expects it."""
    width, height, n = 128, 96, 3
    frame = width * height
    frames = [bytes(random.randrange(256) for _ in range(frame)) for _ in range(n)]
    movi = b"movi" + b"".join(b"00db" + struct.pack("<I", frame) + data for data in frames)
    avih = struct.pack("<14I", 40000, frame * 25, 0, 16, n, 0, 1, frame, width, height, 0, 0, 0, 0)
    strh = (
        b"vids"
        + b"DIB "
        + struct.pack("<10I4H", 0, 0, 0, 1, 25, 0, n, frame, 0, 0, 0, 0, width, height)
    )
    strf = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, frame, 0, 0, 256, 0)

    def chunk(name: bytes, data: bytes) -> bytes:
        return name + struct.pack("<I", len(data)) + data

    strl = chunk(b"LIST", b"strl" + chunk(b"strh", strh) + chunk(b"strf", strf))
    hdrl = chunk(b"LIST", b"hdrl" + chunk(b"avih", avih) + strl)
    rows = [struct.pack("<4sIII", b"00db", 16, 4 + i * (frame + 8), frame) for i in range(n)]
    body = b"AVI " + hdrl + chunk(b"LIST", movi) + chunk(b"idx1", b"".join(rows))
    (folder / "test.avi").write_bytes(chunk(b"RIFF", body))


@dataclass(frozen=True)
class Case:
    """One program: its folder in RODINIA/cuda, the file with its main function, how it is run."""

    folder: str
    main: str
    arguments: str = ""
    inputs: Callable[[Path], None] = lambda folder: None
    exclude: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    place: str = "."
    """Where it is run, below the folder with its inputs."""
    change: tuple[str, str] = ("", "")
    """A text of the program, and what replaces it: a constant that makes it run for long, or a
    header that only older compilers bring."""
    is_with_common: bool = False
    """Whether it needs headers of NVIDIA's samples, which are then ported with it."""


ITERATIONS = ("#define iterations 2000", "#define iterations 2")
CASES = {
    "b+tree": Case("b+tree", "main.c", "file keys.txt command command.txt", tree),
    "backprop": Case("backprop", "backprop_cuda.cu", "64"),
    "bfs": Case("bfs", "bfs.cu", "graph.txt", graph),
    "cfd": Case("cfd", "euler3d.cu", "mesh.txt", mesh, change=ITERATIONS, is_with_common=True),
    "cfd double": Case(
        "cfd", "euler3d_double.cu", "mesh.txt", mesh, change=ITERATIONS, is_with_common=True
    ),
    "dwt2d": Case(
        "dwt2d", "main.cu", "rgb.bmp -d 64x64 -f -5 -l 2", rgb, defines=("OUTPUT",), place="a/b"
    ),
    "gaussian": Case("gaussian", "gaussian.cu", "-s 16"),
    "heartwall": Case("heartwall", "main.cu", "test.avi 1", video),
    "hotspot": Case("hotspot", "hotspot.cu", "64 2 2 temp power output.out", temperatures),
    "hotspot3D": Case("hotspot3D", "3D.cu", "64 2 2 power temp output.out", temperatures_3d),
    "huffman": Case("huffman", "main_test_cu.cu", "bytes.in", noise),
    "hybridsort": Case("hybridsort", "main.cu", "floats.txt", floats),
    "kmeans": Case("kmeans", "kmeans_cuda.cu", "-o -i points.txt -m 4 -n 4 -l 1", clusters),
    "lavaMD": Case("lavaMD", "main.c", "-boxes1d 2"),
    "leukocyte": Case("leukocyte", "CUDA/detect_main.c", "test.avi 1", video),
    "lud": Case("lud", "cuda/lud.cu", "-s 48 -v"),
    "mummergpu": Case("mummergpu", "src/mummergpu_main.cpp", "reference.fna query.fna", genomes,
        change=("#include <fstream>", "#include <fstream>\n#include <unistd.h>"),
    ),
    "myocyte": Case("myocyte", "main.cu", "3 1 0", heart, place="a/b"),
    "nn": Case("nn", "nn_cuda.cu", "list.txt -r 5 -lat 30 -lng 90", storms),
    "nw": Case("nw", "needle.cu", "48 10"),
    "particlefilter float": Case(
        "particlefilter", "ex_particle_CUDA_float_seq.cu", "-x 16 -y 16 -z 3 -np 64"
    ),
    "particlefilter naive": Case(
        "particlefilter", "ex_particle_CUDA_naive_seq.cu", "-x 16 -y 16 -z 3 -np 64"
    ),
    "pathfinder": Case("pathfinder", "pathfinder.cu", "256 8 2", defines=("BENCH_PRINT",)),
    "srad v1": Case("srad/srad_v1", "main.cu", "2 0.5 32 32", image, place="a/b/c"),
    "srad v2": Case("srad/srad_v2", "srad.cu", "32 32 0 15 0 15 0.5 2", defines=("OUTPUT",)),
    "streamcluster": Case(
        "streamcluster", "streamcluster_cuda_cpu.cpp", "4 8 8 256 256 64 none output.txt 1",
        exclude=("streamcluster_original.cpp",),
    ),
}  # fmt: skip


def climbed(
    case: Case, root: Path, common: Path | None, options: argparse.Namespace
) -> dict[str, object]:
    """Port one program and return its rungs as the report has them."""
    random.seed(SEED)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "cuda", "program")
        place.mkdir(parents=True)
        case.inputs(place)
        sources = _sources(case, root, common, Path(scratch, "sources"))
        running = RunOptions(
            tuple(case.arguments.split()), folder=place / case.place, limit_s=options.limit
        )
        report = port_with(
            sources,
            PortOptions(
                targets=tuple(options.arch.split(",")),
                rungs=tuple(int(n) for n in options.rungs.split(",")),
                running=running,
                flags=Flags((root / "cuda/util", *options.include), case.defines),
                exclude=(*case.exclude, *_other_mains(case)),
            ),
        )
    rungs = {
        name: [r for f in report.files for r in f.rungs if r.name == name]
        for name in ("lint", "compile")
    }
    compiled = [r.status for r in rungs["compile"]]
    runs = {r.name: r for f in report.files if f.path == case.main for r in f.rungs}
    ran = [runs[name] for name in EXECUTED if name in runs]
    return {
        "compile": str(next((s for s in compiled if s is not RungStatus.PASSED), RungStatus.PASSED))
        if compiled
        else ABSENT,
        **{name: str(runs[name].status) if name in runs else ABSENT for name in EXECUTED},
        "values": [shown(run) for run in ran],
        "lint": [d for r in rungs["lint"] for d in r.details][:8],
        "errors": [d for r in rungs["compile"] for d in r.details][:6],
        "details": [d for run in ran for d in run.details][:8],
    }


def _sources(case: Case, root: Path, common: Path | None, to: Path) -> Path:
    """Return a copy of a program's sources, with helper headers if it needs them."""
    shutil.copytree(root / "cuda" / case.folder, to)
    for header in common.glob("*.h") if common and case.is_with_common else ():
        if header.name.startswith(("helper_", "exception")):
            shutil.copyfile(header, to / header.name)
    old, new = case.change
    for path in [*to.rglob("*.cu"), *to.rglob("*.cpp")] if old else ():
        path.write_text(path.read_text().replace(old, new))
    return to


def _other_mains(case: Case) -> tuple[str, ...]:
    """Return the other programs of the folder, which need not be run with this one's input."""
    beside = {c.main for c in CASES.values() if c.folder == case.folder} - {case.main}
    others = {"cfd": ("pre_*",), "lud": ("base", "tools"), "nn": ("hurricane_gen.c",)}
    return (*beside, *others.get(case.folder, ()))


def row(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Return a program's row, with the seconds that it took."""
    start = time.perf_counter()
    try:
        found = climbed(CASES[name], options.rodinia, options.common, options)
    except KernelwrightError as error:
        found = dict.fromkeys(("compile", *EXECUTED), "error") | {"details": [str(error)]}
    return found | {"seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rodinia", type=Path)
    parser.add_argument("--common", type=Path, help="NVIDIA's helper headers, from cuda-samples")
    parser.add_argument(
        "--include", type=Path, action="append", default=[], help="OpenGL's headers"
    )
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--rungs", default="0,1,2")
    parser.add_argument("--arch", default="gfx942,gfx90a,gfx1100")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.only.split(",")
    rows = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        found = {pool.submit(row, name, options): name for name in names}
        for done in as_completed(found):
            name = found[done]
            rows[name] = done.result()
            print(f"{name}: {json.dumps(rows[name])}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    for rung in ("compile", *EXECUTED):
        print(rung, dict(collections.Counter(str(row[rung]) for row in rows.values())))


if __name__ == "__main__":
    main()
