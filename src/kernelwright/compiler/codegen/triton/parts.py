"""The ways in which a product's operands are split into parts: how many, of what type, and which
parts are multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.triton import scaled, split
from kernelwright.compiler.codegen.triton.split import Rows, extent, rows_of
from kernelwright.compiler.ir.ir import Contraction, Tensor


@dataclass(frozen=True)
class Form:
    """A way to write a float32 as a sum of parts."""

    n: int
    """Number of parts."""
    word: str
    """Suffix of the names of tensors in parts."""
    products: tuple[tuple[int, int], ...]
    """The pairs of parts of a and b that are multiplied, the smallest products first, as they are
    summed."""
    is_scaled: bool = False
    """Whether rows are first scaled to one magnitude, and low parts to that of the high parts."""

    def before(self) -> tuple[str, ...]:
        """The lines before the loop over k, besides those of the sums."""
        if not self.is_scaled:
            return ()
        return (
            "low = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)",
            "# A zero that the compiler cannot see: a sum that starts from one that it sees",
            "# would be made to start from acc.",
            "zero = tl.minimum(tl.load(a_largest_ptr), 0).to(tl.float32)",
            "nothing = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) + zero",
        )

    def multiplied(self, *, interpreted: bool) -> list[str]:
        """Return the lines that add the products of a block's parts to the sums.

        Products that include a low part are so small that the bits which tensor cores truncate do
        not matter. Those of scaled parts are summed separately, since low parts have a scale of
        their own.
        """
        wide = ".to(tl.float32)" if interpreted else ""
        exact = ', input_precision="ieee"' if interpreted else ""
        lines = []
        started = {"low"} if self.is_scaled else set()
        for a_part, b_part in self.products:
            to = "low" if self.is_scaled and a_part + b_part else "chunk"
            before = f", {to}" if to in started else ", nothing" if self.is_scaled else ""
            lines.append(f"{to} = tl.dot(a{a_part}{wide}, b{b_part}{wide}{before}{exact})")
            started.add(to)
        return [*lines, "acc += chunk  # a fresh sum: tensor cores cut bits when they accumulate"]


FORMS = {
    # Keeps all 24 bits.
    "bf16x3_6": Form(3, "in_three", split.PRODUCTS),
    # Keeps 22 to 23 bits. The product that is left out is below one ulp.
    "fp16x2_3": Form(2, "in_two", ((0, 0), (1, 0), (0, 1)), is_scaled=True),
}


@dataclass(frozen=True)
class Parts:
    """Both operands of a step, split by kernels that run before the product."""

    step: Contraction
    form: Form
    rows: Mapping[str, Rows | None]
    """Operand ('a', 'b') → its parts as rows; None if its tensor is split in place."""

    @staticmethod
    def of(step: Contraction, form: Form, block: Mapping[str, int]) -> Parts:
        return Parts(step, form, {letter: rows_of(step, letter, block) for letter in "ab"})

    def name(self, letter: str) -> str:
        """Return the tensor of an operand's parts."""
        name = scaled.parts_name if self.form.is_scaled else split.parts_name
        return name(self.step, letter)

    def distance(self, letter: str) -> int:
        """Return the number of elements from one part to the next."""
        rows = self.rows[letter]
        return rows.n_elements if rows else extent(self._tensor(letter))

    def derived(self) -> tuple[Derived, ...]:
        """Return the statements that split both operands.

        Raises:
            ValueError: rows are to be scaled, and an operand has none.
        """
        made: list[Derived] = []
        for letter, rows in self.rows.items():
            if self.form.is_scaled:
                if rows is None:
                    raise ValueError(f"operand {letter} of {self.step.name} has no rows to scale")
                made.append(scaled.in_rows(self.step, letter, rows))
            elif rows:
                made.append(split.in_rows(self.step, letter, rows))
            else:
                made.append(split.in_place(self.step, letter))
        return tuple(made)

    def pointers(self, block: Mapping[str, int], *, descriptors: bool) -> dict[str, str]:
        """Return the arguments that the product's launch passes, by parameter."""
        passed: dict[str, str] = {}
        for letter, side in (("a", "m"), ("b", "n")):
            parts, rows = self.name(letter), self.rows[letter]
            parameter = f"{letter}_{self.form.word}"
            if descriptors and rows:
                shape = f"{self.form.n * rows.padded_rows}, {rows.padded_k}"
                whole = f"{parts}.view({shape})"
                at_a_time = [block[side], block["k"]]
                passed[parameter] = f"TensorDescriptor.from_tensor({whole}, {at_a_time})"
            else:
                passed[f"{parameter}_ptr"] = parts
            if self.form.is_scaled:
                passed[f"{letter}_largest_ptr"] = scaled.largest_name(self.step, letter)
        return passed

    def _tensor(self, letter: str) -> Tensor:
        return (self.step.a if letter == "a" else self.step.b).tensor
