"""Sizes at which the programs of public suites end in time under the emulation, and inputs of our
own for those whose inputs are not in the suite's repository."""

from __future__ import annotations

import re
from pathlib import Path

from kernelwright.port.exact import read_exact, write_exact
from kernelwright.port.tree import UNITS

SMALLER: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ace": tuple(("main.cu", f"DATA{axis}SIZE 400", f"DATA{axis}SIZE 24") for axis in "XYZ"),
    "binomialOptions": (
        ("binomialOptions_common.h", "NUM_STEPS 2048", "NUM_STEPS 256"),
        ("binomialOptions_common.h", "MAX_OPTIONS 1024", "MAX_OPTIONS 8"),
    ),
    "bn": (
        ("data45.h", "NODE_N=45", "NODE_N=10"),
        ("data45.h", "DATA_N=600", "DATA_N=64"),
        ("data45.h", "data[DATA_N*NODE_N]", "data[]"),
        ("main.cu", "ITER = 100", "ITER = 2"),
    ),
    "bonds": (("bondsEngine.cu", "{1000000}", "{512}"),),
    "bscan": (("main.cu", "12*7*8*9*10", "4"),),
    "cmembench": (("main.cu", "4096*VECTOR_SIZE", "4*VECTOR_SIZE"),),
    "concat": (
        ("main.cu", "nhead <= 48", "nhead <= 6"),
        ("main.cu", "seq_len = 1024", "seq_len = 16"),
    ),
    "conjugateGradientMultiBlockCG": (
        ("conjugateGradientMultiBlockCG.cu", "N  = 1048576", "N  = 512"),
    ),
    "convolutionFFT2D": tuple(
        ("main.cpp", f"data{axis}{blanks}= 2000", f"data{axis}{blanks}= 60")
        for axis in "HW"
        for blanks in (" " * 3, " " * 6)
    ),
    "dslash": (("Makefile", "-DLDIM=32", "-DLDIM=4"),),
    "f16sp": (
        ("kernels.h", "NUM_OF_BLOCKS (1024 * 1024)", "NUM_OF_BLOCKS 16"),
        ("main.cu", "i < 1000", "i < 1"),
    ),
    "feynman-kac": (("main.cu", "int N = 1000", "int N = 8"),),
    "geodesic": (
        ("main.cu", "2097152; // 2 ** 21", "2048;"),
        (
            "main.cu",
            "{436483, 1952407, 627919, 377884, 442703, 1863423}",
            "{7, 77, 177, 277, 377, 477}",
        ),
    ),
    "immaTensorCoreGemm": tuple(
        ("immaTensorCoreGemm.cu", f"{axis}_TILES 256", f"{axis}_TILES 16") for axis in "MNK"
    ),
    "match": (("main.cu", "(2048*8)", "(128)"),),
    "md5hash": (
        ("MD5Hash.cu", "{ 7,  5,  6,  5}", "{ 2,  3,  2,  2}"),
        ("MD5Hash.cu", "{10, 35, 25, 70}", "{10,  9, 12, 16}"),
    ),
    "minisweep": (
        (
            "Makefile",
            "--niterations 100",
            "--niterations 1 --ncell_x 4 --ncell_y 4 --ncell_z 4 --ne 4 --na 4 --nblock_z 4",
        ),
    ),
    "multimaterial": (
        ("Makefile", "./multimat_FL 2000 2000\n", "./multimat_FL 40 40 0.3 0.05 0.05\n"),
    ),
    "openmp": (("main.cu", "num_gpus * 33554432", "num_gpus * 32768"),),
    "opticalFlow": (
        ("main.cu", "nLevels = 5", "nLevels = 2"),
        ("main.cu", "nSolverIters = 500", "nSolverIters = 4"),
        ("main.cu", "nWarpIters = 3", "nWarpIters = 1"),
    ),
    "pitch": (
        ("main.cu", "{227, 256, 720, 768, 854, 1280, 1440, 1920, 2048, 3840, 4096}", "{37, 64}"),
        ("main.cu", "{227, 256, 480, 576, 480, 720, 1080, 1080, 1080, 2160, 2160}", "{23, 20}"),
        ("main.cu", "i < 11", "i < 2"),
    ),
    "pns": (("Makefile", "22 100000 1000000", "4 64 64"),),
    "reshapeKVCache": (
        ("Makefile", "1024 32 128 1000", "16 2 128 1"),
        ("utils.h", "__CUDA_ARCH__ < 800", "__CUDA_ARCH__ < 700"),  # the emulation's architecture
    ),
    "rsbench": (
        ("Makefile", "-s large -m event", "-s small -m event -l 100"),
        ("main.cu", "return is_invalid;", "return 0;"),  # it knows the sum for its sizes only
    ),
    "spd2s": (("Makefile", "20082 20082 150616 1000", "100 90 700 1"),),
    "ssm": (
        ("main.cu", "kBatch  = 32", "kBatch  = 1"),
        ("main.cu", "kDim    = 2048", "kDim    = 4"),
        ("main.cu", "kSeqLen = 1024", "kSeqLen = 512"),
    ),
    "storeKVCache": (
        ("main.cu", "2 * 1024 * 1024 / num_layers", "1024 / num_layers"),
        ("main.cu", "item_size <= 1024", "item_size <= 16"),
        ("main.cu", "batch_size <= 16384", "batch_size <= 64"),
    ),
}
"""Constants and arguments that make a program run for long, by program: the file, the text in it,
and what replaces it."""


def _picture(shift: int) -> str:
    """Return a picture of 64 by 48 pixels in binary PPM: three squares, moved to the right."""
    rows = [[((x - shift) // 8 + y // 8) % 3 * 40 + 20 for x in range(64)] for y in range(48)]
    return "P6\n64 48\n255\n" + "".join(3 * chr(grey) for row in rows for grey in row)


def _net(number: int, n_pins: int) -> str:
    """Return one net of a chip, as the router rsmt reads it."""
    pins = ((number * 37 + j * 53, number * 71 + j * 29) for j in range(n_pins))
    return f"n{number} {number} {n_pins} 1\n" + "".join(f"{x % 160} {y % 160} 1\n" for x, y in pins)


_STORM = "1950  1  1 12 {0:03d} STORM{0:04d}   {1:4.1f} {2:5.1f} 40  900"
INPUTS: dict[str, dict[str, str]] = {
    "d2q9-bgk": {
        "Inputs/input_256x256.params": "16\n16\n20\n10\n0.1\n0.005\n1.7\n",
        "Obstacles/obstacles_256x256.dat": "0 0 1\n5 5 1\n9 3 1\n",
    },
    "geodesic": {
        "../geodesic-sycl/locations.txt": "".join(
            f"{i * 37 % 170 - 85}.5 {i * 91 % 350 - 175}.25\n" for i in range(2048)
        )
    },
    "gibbs": {"data.csv": "".join(f"{i * 7 % 40} {i % 9 + 1}.0\n" for i in range(64))},
    "graphB+": {
        "graph.csv": "from,to,sign\n"
        + "".join(f"{i % 60},{(i * 7 + 3) % 60},{1 if i % 3 else -1}\n" for i in range(240))
    },
    "nn": {
        "filelist.txt": "cane.db\n",
        "cane.db": "".join(
            f"{_STORM.format(i, 7 + i * 37 % 56, i * 91 % 358):<49}"[:48] + "\n" for i in range(64)
        ),
    },
    "opticalFlow": {"data/frame10.ppm": _picture(0), "data/frame11.ppm": _picture(1)},
    "rsmt": {
        "newblue7.kraftwerk70.3d.80.20.82.m8.gr": "grid 16 16 2\nvertical capacity 0 8\n"
        "horizontal capacity 8 0\nminimum width 1 1\nminimum spacing 1 1\nvia spacing 1 1\n"
        "0 0 10 10\n\nnum net 40\n" + "".join(_net(i, 2 + i % 7) for i in range(40))
    },
}
"""Small inputs of our own, by program, where the suite's are not in its repository."""
SHRUNK = 1024
_PRODUCT = r"\d+(?:\s*\*\s*\d+)*"
_CONSTANT = re.compile(
    r"(?P<before>#define[ \t]+\w+[ \t]+\(?"
    r"|\b(?:int|long|size_t|unsigned|uint\w*)[ \t]+\w+[ \t]*=[ \t]*)"
    rf"(?P<value>{_PRODUCT}|1[ \t]*<<[ \t]*\d+)(?=[ \t]*[);,\r\n/])"
)
"""A whole number that a macro or a variable of the program stands for."""


def fit(own: Path, name: str) -> None:
    """Make what SMALLER names smaller in a program's folder, and write its INPUTS there.

    Raises:
        ValueError: the program has changed, and a text of SMALLER is not in it.
    """
    for file, old, new in SMALLER.get(name, ()):
        path = own / file
        if old not in (text := read_exact(path)):
            raise ValueError(f"{path.name} of {name} has no {old!r}: mend SMALLER")
        write_exact(path, text.replace(old, new))
    for file, text in INPUTS.get(name, {}).items():
        (own / file).parent.mkdir(parents=True, exist_ok=True)
        (own / file).write_text(text)


def shrink(place: Path) -> None:
    """Make the sizes in a program's sources smaller: constants that are whole hundreds or multiples
    of 256 become at most SHRUNK."""

    def smaller(match: re.Match[str]) -> str:
        words = match["value"]
        value = eval(words.replace(" ", ""), {"__builtins__": {}})  # digits, * and << alone
        is_size = value > SHRUNK and (value % 100 == 0 or value % 256 == 0)
        return f"{match['before']}{SHRUNK if is_size else words}"

    for path in place.rglob("*"):
        if path.is_file() and path.suffix in (*UNITS, ".h", ".hpp", ".cuh"):
            write_exact(path, _CONSTANT.sub(smaller, read_exact(path)))
