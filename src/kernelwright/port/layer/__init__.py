"""HIP's headers on top of CUDA's: written by us, with names from the translator's tables."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from kernelwright.dialects.kept import kept_folder
from kernelwright.hipify.table import ApiMap, load_map

HERE = Path(__file__).parent
RUNTIME, NAMES = "hip/hip_runtime.h", "hip/names.h"
_DEFINED = re.compile(r"^#define (\w+)|^static inline \w+ (hip\w+)\(", re.MULTILINE)
_HIP_NAME = re.compile(r"_*(make_)?(hip|roc|miopen)\w*", re.IGNORECASE)
"""Names that only HIP and its libraries have; other names would be redefined in CUDA's own
headers."""
_AFTER = {
    "hipcub/hipcub.hpp": "namespace hipcub = cub;\n",
    "hipblas/hipblas.h": "#define HIPBLAS_H\n",
    "hipfft/hipfft.h": "#define HIPFFT_H_\n",
    "hiprand/hiprand.h": "#define HIPRAND_H_\n",
    "hipsolver/hipsolver.h": "#define HIPSOLVER_H\n",
    "hipsparse/hipsparse.h": "#define HIPSPARSE_H\n",
}
"""Header → text that it needs besides its counterpart and the names."""


@functools.cache
def layer() -> Path:
    """Return the folder of the layer's headers, for ``-I``; it is made once per version of the
    tables.

    Not covered: HIP functions whose arguments differ from their CUDA counterparts', except for the
    few in ``hip_runtime.h``; a program that uses them does not compile.
    """
    texts = _texts(load_map("cuda"))

    def make(folder: Path) -> None:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return kept_folder("hip-on-cuda", "".join(f"{k}{v}" for k, v in texts.items()), make)


def _texts(api: ApiMap) -> dict[str, str]:
    """Return every header of the layer by its path."""
    runtime = (HERE / "hip_runtime.h").read_text()
    by_hand = {name for found in _DEFINED.findall(runtime) for name in found if name}
    lines = [
        f"#define {hip} {row.hip}"  # in a map to CUDA, the column `hip` holds CUDA's name
        for hip, row in sorted(api.names.items())
        if _HIP_NAME.fullmatch(hip) and row.hip.isidentifier() and hip not in by_hand
        if row.kind != "guard"
    ]
    texts = {NAMES: "#pragma once\n" + "\n".join(lines) + "\n"}
    for hip, row in api.headers.items():
        texts[hip] = (
            f"#pragma once\n#include <{RUNTIME}>\n#include <{row.hip}>\n{_AFTER.get(hip, '')}"
        )
    return texts | {RUNTIME: runtime}
