"""The API map: the names of each side and their counterparts, read from the tables beside this
file."""

from __future__ import annotations

import csv
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLES = Path(__file__).parent / "tables"
WAY_BACK = "way back"
"""Note of a header or name that its HIP counterpart is translated back to, if several have that
counterpart."""

ONLY_BACK = "only back"
"""Note of PyTorch's names: its extension builder translates CUDA's names to those of its version of
ROCm, where most are CUDA's again."""


@dataclass(frozen=True)
class Row:
    """One name of CUDA and its counterpart, with the ROCm release that introduced it.

    Source:
        The table's own ``source`` column: 'rocm-tables' are the API tables of the ROCm
        documentation (October 2024), 'hip-7.1-headers' and 'cuda-13-headers' the identifiers of
        those headers, 'hipblas-header' and the like a library's header, 'rocm-docs', 'cuda-docs'
        and 'llvm-hip-docs' documentation, 'pytorch-hipify' PyTorch's names on ROCm.
    """

    cuda: str
    hip: str
    kind: str
    since: str
    state: str
    note: str
    source: str
    library: str = ""
    meaning: str = ""
    advice: str = ""

    @property
    def is_mapped(self) -> bool:
        return bool(self.hip) and not self.state.startswith("removed")


@dataclass(frozen=True)
class ApiMap:
    """All tables, in one direction."""

    names: dict[str, Row]
    headers: dict[str, Row]
    to: str
    owned: re.Pattern[str]
    """Names that belong to the source side, whether or not a table has them."""


OWNED_BY_HIP = re.compile(
    r"hip[A-Z_]\w*|HIP_\w+|hiprtc\w*|roc\w+_\w+|rocprim|rocwmma|hipcub|__hip_\w+|__builtin_amdgcn_\w+"
    r"|(un)?safeAtomic\w+|__ockl_\w+|__ocml_\w+|__(AMDGCN|GFX)\w*__|gcnArch(Name)?|amdgpu_\w+"
    r"|__amdgcn_\w+|wall_clock64"
)
"""Names that only HIP, its libraries and its compiler have."""


@cache
def load_map(to: str) -> ApiMap:
    """Return the map for translating ``to`` 'hip' or 'cuda'."""
    return _to_hip() if to == "hip" else _to_cuda()


def _libraries() -> list[dict[str, Any]]:
    return tomllib.loads((TABLES / "libraries.toml").read_text())["library"]


@cache
def _rows() -> tuple[Row, ...]:
    rows = []
    for library in _libraries():
        path = TABLES / f"{library['name']}.csv"
        if not path.exists():
            continue
        said = {"meaning": library.get("meaning", ""), "advice": library.get("advice", "")}
        with path.open(newline="") as lines:
            rows += [
                Row(**row, library=library["name"], **(said if row["kind"] == "function" else {}))
                for row in csv.DictReader(lines)
            ]
    return tuple(rows)


def _to_hip() -> ApiMap:
    names: dict[str, Row] = {}
    rows = [row for row in _rows() if row.note != ONLY_BACK]
    for row in rows:
        if row.kind != "header" and not (row.cuda in names and names[row.cuda].is_mapped):
            names[row.cuda] = row
    owned = [pattern for library in _libraries() for pattern in library["owned"]]
    headers = {row.cuda: row for row in rows if row.kind == "header"}
    return ApiMap(names, headers, "hip", re.compile("|".join(owned)))


def _mirrors(row: Row) -> bool:
    """Return whether a library's two names differ in their prefixes alone.

    If several names have one counterpart, this one is translated back to: hipblasStatus_t to
    cublasStatus_t and not to cublasStatus, hipError_t to cudaError_t. The runtime takes precedence
    over the driver, whose functions take other types.
    """
    own = "cuda" if row.library == "runtime" else "cu"
    is_driver = row.library == "driver"
    return not is_driver and row.hip.removeprefix("hip") == row.cuda.removeprefix(own)


def _of_rocm_6(row: Row) -> tuple[str, ...]:
    """Return the other name that a function of hipBLAS may have had before ROCm 7.

    Source: hipblas.h of ROCm 6.3, the names behind HIPBLAS_V2.
    """
    is_function = row.library == "blas" and row.kind == "function"
    return (re.sub(r"(_64)?$", r"_v2\1", row.hip, count=1),) if is_function else ()


def _to_cuda() -> ApiMap:
    names: dict[str, Row] = {}
    headers: dict[str, Row] = {}
    for row in _rows():
        if not row.hip or row.hip == row.cuda:
            continue
        into = headers if row.kind == "header" else names
        if row.hip not in into or row.note == WAY_BACK or _mirrors(row):
            for hip in (row.hip, *_of_rocm_6(row)):
                into[hip] = Row(**{**row.__dict__, "cuda": hip, "hip": row.cuda})
    return ApiMap(names, headers, "cuda", OWNED_BY_HIP)
