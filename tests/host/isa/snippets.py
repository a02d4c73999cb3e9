"""Snippets of AMD assembly as kernels that read rows of lanes and leave rows of lanes."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelwright.dialects.amdgpu import find_clang
from kernelwright.isa import Emulator, listing_of

N_IN, N_OUT = 6, 4
"""Rows read into v10, v11, ... and rows stored from v20, v21, ..."""
WIDTHS = {"gfx1100": 32, "gfx942": 64}
_LOAD = {
    "gfx1100": ("global_load_b32", "global_store_b32"),
    "gfx942": ("global_load_dword", "global_store_dword"),
}
_HEAD = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.amdhsa_code_object_version 5
.text
"""
_KERNEL = """
.globl {name}
.p2align 8
.type {name},@function
{name}:
  {scalar_load} s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
{loads}
  s_waitcnt vmcnt(0)
{body}
{stores}
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 60
  .amdhsa_float_denorm_mode_32 3
{more}
.end_amdhsa_kernel
.text
"""
_NOTE = """
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 64
    .kernarg_segment_align: 8
    .wavefront_size: {width}
    .sgpr_count: 60
    .vgpr_count: 128
    .max_flat_workgroup_size: 1024
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}
"""


def assembly(snippets: Mapping[str, str], target: str) -> str:
    width = WIDTHS[target]
    load, store = _LOAD[target]
    scalar_load = "s_load_b128" if width == 32 else "s_load_dwordx4"
    loads = "\n".join(f"  {load} v{10 + k}, v1, s[4:5] offset:{k * width * 4}" for k in range(N_IN))
    stores = "\n".join(
        f"  {store} v1, v{20 + k}, s[6:7] offset:{k * width * 4}" for k in range(N_OUT)
    )
    clear = "\n".join(f"  v_mov_b32 v{20 + k}, 0" for k in range(N_OUT))
    more = "  .amdhsa_wavefront_size32 1" if width == 32 else "  .amdhsa_accum_offset 128"
    said = _HEAD.format(target=target)
    for name, body in snippets.items():
        said += _KERNEL.format(
            name=name, body=f"{clear}\n{body}", loads=loads, stores=stores,
            scalar_load=scalar_load, more=more,
        )  # fmt: skip
    notes = "".join(_NOTE.format(name=name, width=width) for name in snippets)
    said += (
        f".amdgpu_metadata\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--{target}\n"
    )
    return f"{said}amdhsa.kernels:{notes}.end_amdgpu_metadata\n"


@dataclass
class Snippets:
    """Assembled snippets, ready to run."""

    emulator: Emulator
    width: int

    def run(self, name: str, *rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the rows that a snippet leaves, as unsigned 32-bit words; lanes that ``rows`` do
        not name hold 0."""
        given = np.zeros((N_IN, self.width), np.uint32)
        for k, row in enumerate(rows):
            words = np.asarray(row).ravel()
            bits = words.view(np.uint32) if words.dtype.kind == "f" else words.astype(np.int64)
            given[k, : len(bits)] = bits.astype(np.int64) & 0xFFFFFFFF
        left = np.zeros((N_OUT, self.width), np.uint32)
        for memory in (given, left):
            self.emulator.add_memory(memory.ctypes.data, memory.nbytes)
        packed = struct.pack("QQ", given.ctypes.data, left.ctypes.data)
        try:
            self.emulator.launch(name, grid=(1, 1, 1), block=(self.width, 1, 1), arguments=packed)
        finally:
            for memory in (given, left):
                self.emulator.drop_memory(memory.ctypes.data)
        return left


def assembled(snippets: Mapping[str, str], folder: Path, target: str = "gfx1100") -> Snippets:
    clang = find_clang()
    assert clang is not None
    source, built = folder / f"{target}.s", folder / f"{target}.o"
    source.write_text(assembly(snippets, target))
    subprocess.run(
        [clang.replace("clang++", "clang"), "--target=amdgcn-amd-amdhsa", f"-mcpu={target}",
         "-nogpulib", "-x", "assembler", str(source), "-o", str(built), "-w"],
        check=True,
    )  # fmt: skip
    return Snippets(Emulator(listing_of(built, folder)), WIDTHS[target])
