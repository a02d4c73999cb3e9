"""A convolution with its epilogue as one Triton kernel on tensor cores.

The image is gathered into tiles: there is no im2col copy, and padding is a mask. There are two
precisions. ``tf32`` is the rounding of the library's own convolutions by default. The weights are
rounded once, and an image that is copied to another layout is rounded on the way, because tensor
cores would truncate the bits that they do not read. For few channels, however, the library often
computes in float32, and ``parts`` is as exact as that: three bfloat16 parts of each operand hold
all 24 bits, six of their products matter, and every block of k is summed separately, because tensor
cores truncate when they accumulate. Results that are not finite are recomputed from the unsplit
operands.

A transposed convolution of stride s falls into phases: outputs that are s apart read the same taps
of the kernel. A program has outputs of one phase and loops over that phase's taps alone. Along the
last dimension a program may have both phases of stride 2 (the knob ``phases`` is ``joined``): it
loops over the taps of one, then over those of the other, and lays their sums side by side. Its rows
are then contiguous in memory, where a program of one phase stores every second number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.schedule import needs_int64
from kernelwright.compiler.codegen.gpu.text import affine, decomposed
from kernelwright.compiler.codegen.triton.body import Body, Tile, Value, inside, tile_name
from kernelwright.compiler.codegen.triton.grid import phase_axis, side_by_side, taps_of_phase
from kernelwright.compiler.codegen.triton.image import (
    Image,
    image_name,
    image_of,
    laid_out,
    parts_name,
    weight_name,
    weight_row,
    weights,
)
from kernelwright.compiler.codegen.triton.kernel import (
    RESERVED,
    function_text,
    launch_text,
    neutral,
)
from kernelwright.compiler.codegen.triton.ops import held, reduce
from kernelwright.compiler.codegen.triton.parts import FORMS
from kernelwright.compiler.codegen.triton.split import split_inside
from kernelwright.compiler.ir.ir import Axis, Contraction, Load, PartTotal, Reduce, Stretch

_OWN = (
    "m", "n", "k", "tap", "rest", "step", "live_m", "live_n", "live_k", "tile", "tile_m", "tile_n",
    "phase", "acc", "chunk", "a", "b", "a_start", "b_start", "a_rest", "a_k", "b_k", "channel",
    "n_taps", "live", "group", "even", "odd",
    *(f"{letter}{part}" for letter in "ab" for part in range(3)),
)  # fmt: skip
"""Names that the convolution's own statements use."""
_BLOCKS, _TILES, _SINGLY = "blocks of one tap's channels", "tiles of any k", "one k at a time"
"""The ways in which a program loops over k."""


def emit_convolution(step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``step`` in Triton under ``knobs``: block_m, block_n, block_k, layout, precision,
    and phases where programs may have one or both."""
    writer = ConvolutionWriter(step, knobs, interpreted=interpreted)
    text = writer.text()
    launch = launch_text(step, writer.grid, writer.pointers.values(), writer.constants, knobs)
    is_rounded = knobs["precision"] == "tf32" and not interpreted
    in_parts = knobs["precision"] == "parts"
    derived = [weights(step, writer.image, writer.row, in_parts=in_parts, is_rounded=is_rounded)]
    if writer.image.is_copied:
        derived.append(laid_out(step, writer.image, is_rounded=is_rounded))
    return Launched(text, launch, tuple(derived))


class ConvolutionWriter:
    """The writer of one convolution's text."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        self.step = step
        self.interpreted = interpreted
        self.in_parts = knobs["precision"] == "parts"
        self.image: Image = image_of(step, knobs["layout"])
        self.block = {x: int(knobs[f"block_{x}"]) for x in "mnk"}
        self.joined = side_by_side(step) if knobs.get("phases") == "joined" else None
        """The stretch of whose phases a program has both."""
        self.row = weight_row(step, self.block["k"])
        self.stretch_of = {s.out: s for s in step.stretches}
        self.rows = tuple(phase_axis(axis, step.stretches) for axis in step.m)
        self.n_rows, self.n_columns = size_of(self.rows), size_of(step.n)
        self.tiles_n = math.ceil(self.n_columns / self.block["n"])
        self.constants = {f"BLOCK_{x.upper()}": self.block[x] for x in "mnk"}
        channels = self.image.channel.size if self.image.channel else 1
        self.channels = channels
        is_whole = channels % self.block["k"] == 0 and not self._bounds_channels()
        self.walk = _BLOCKS if is_whole else _TILES
        self.pointers = self._pointers()
        sizes = {a.name: a.size for a in (*step.batch, *step.m, *step.n, *step.k)}
        self.tile = Tile({}, sizes)
        self.names = Names([*RESERVED, *_OWN, function_name(step), *self.pointers, *self.constants])
        self.lines = Lines(1)
        self.axis: dict[str, str] = {}
        self.first: dict[str, str] = {}
        """Tap of a stretch → the first tap of the program's phase."""
        self.count: dict[str, str] = {axis.name: str(axis.size) for axis in self.image.taps}
        """Tap → how many taps the program loops over."""
        self.position: dict[str, str] = {}
        """Tap of a stretch → the position in the image that the first tap reads."""

    def _bounds_channels(self) -> bool:
        """Return whether some channels of the image are padding: its masks are of two dimensions
        then, and the blocks of one tap's channels have masks of rows alone."""
        channel = self.image.channel
        return channel is not None and any(
            bound.index.coefficient(channel.name) for bound in self.step.a.bounds
        )

    @property
    def n_phases(self) -> int:
        """The number of phases that different programs have."""
        return math.prod(stretch.stride for stretch in self.apart)

    @property
    def apart(self) -> tuple[Stretch, ...]:
        """The stretches of which a program has one phase."""
        return tuple(s for s in self.step.stretches if s != self.joined)

    @property
    def grid(self) -> int:
        tiles = -(-self.n_rows // self.block["m"]) * self.tiles_n
        return tiles * self.n_phases * size_of(self.step.batch)

    def _pointers(self) -> dict[str, str]:
        step = self.step
        image = image_name(step) if self.image.is_copied else step.a.tensor.name
        named = {"image_ptr": image, "weight_ptr": weight_name(step)}
        if self.in_parts:
            named["parts_ptr"] = parts_name(step)
        body = [op.tensor for op in step.body if isinstance(op, Load)]
        return named | {tile_name(t): t.name for t in (*body, *step.writes)}

    def text(self) -> str:
        self._place()
        for stretch in self.apart:
            self._stretch(stretch)
        if self.joined:
            for number, name in enumerate(("even", "odd")):
                self._known_phase(self.joined, number)
                self._sums()
                self.lines.add(f"{name} = acc")
            self._join(self.joined)
        else:
            self._sums()
        self._epilogue()
        return function_text(self.step, self.pointers, self.constants, self.lines)

    def _sums(self) -> None:
        """Compute the sums of one phase; they are zeros if no tap reaches it."""
        self._starts()
        self.lines.add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
        if "0" not in self.count.values():
            self._loop()
            if self.in_parts:
                self._again_where_not_finite()

    # --- where a program works -------------------------------------------------------------

    def _place(self) -> None:
        """Define which outputs this program computes, and the axes of its rows and columns."""
        wide = ".to(tl.int64)" if needs_int64(self.step) else ""
        self.lines.add(f"tile = tl.program_id(0){wide}")
        if self.n_phases > 1:
            self.lines.add(
                "# neighbouring programs have different phases of the same outputs",
                f"phase = (tile % {self.n_phases}).to(tl.int32)",
                f"tile = tile // {self.n_phases}",
            )
        for group in self.step.batch:
            self.lines.add(f"group = tile % {group.size}", f"tile = tile // {group.size}")
            self.axis[group.name] = "group"
        self.lines.add(f"tile_m = tile // {self.tiles_n}", f"tile_n = tile % {self.tiles_n}")
        phases = tuple(Axis(s.out, s.stride) for s in self.apart if s.stride > 1)
        for out, text in decomposed("phase", phases, "//").items():
            name = self.names.new(f"phase_{out}")
            self.lines.add(f"{name} = {text}")
            self.position[out] = name
        self._rows()
        self._side("n", self.step.n, self.n_columns)

    def _rows(self, phases: int = 1) -> None:
        """Define the rows. Each is one of one phase, or has ``phases`` outputs along the last
        axis, side by side."""
        rows = self.rows
        if phases > 1:
            rows = (*rows[:-1], Axis(rows[-1].name, rows[-1].size * phases))
        self._side("m", rows, self.n_rows * phases, phases)

    def _side(self, letter: str, axes: tuple[Axis, ...], size: int, phases: int = 1) -> None:
        big = block_text(letter, phases)
        self.lines.add(f"{letter} = tile_{letter} * {big} + tl.arange(0, {big})")
        self.lines.add(f"live_{letter} = {letter} < {size}")
        for axis, text in decomposed(letter, axes, "//").items():
            name = letter if text == letter else self.names.new(axis)
            if text != letter:
                self.lines.add(f"{name} = {text}")
            self.axis[axis] = name
            self.tile.masks[axis] = f"live_{letter}"

    def _starts(self) -> None:
        """Define the start of rows and columns, which stay the same along k."""
        names = {axis: text for axis, text in self.axis.items() if axis not in self.stretch_of}
        start = affine(self.image.start, names) if self.image.start.terms else "0 * m"
        offset = f" + {self.image.start.offset}" if not self.image.start.terms else ""
        self.lines.add(f"a_start = {start}{offset}")
        for stretch in self.step.stretches:
            factor = self.image.coefficient[stretch.tap]
            self.lines.add(f"a_start += {self.position[stretch.tap]} * {factor}")
        column = f"(group * {self.n_columns} + n)" if self.step.batch else "n"
        self.lines.add(f"b_start = {column} * {self.row}")

    def _stretch(self, s: Stretch) -> None:
        """Define the phase's first tap, its number of taps, and the position that the first tap
        reads."""
        row = self.axis[s.out]
        n_taps = next(axis.size for axis in self.image.taps if axis.name == s.tap)
        if s.stride == 1:
            self.first[s.tap] = "0"
            self._reads_from(s, row, str(s.padding))
            return
        phase = self.position[s.out]
        common = math.gcd(s.stride, s.dilation)
        every, apart = s.stride // common, s.dilation // common
        inverse = pow(apart, -1, every) if every > 1 else 0
        first, count = (self.names.new(f"{word}_{s.tap}") for word in ("first", "count"))
        shifted = f"({phase} + {s.padding})"
        near = shifted if common == 1 else f"({shifted} // {common})"
        self.lines.add(
            f"{first} = {near} * {inverse} % {every}",
            f"{count} = ({n_taps} - {first} + {every - 1}) // {every}",
        )
        if common > 1:  # outputs between the positions that any tap reaches
            self.lines.add(f"{count} = tl.where({shifted} % {common} == 0, {count}, 0)")
        self._reads_from(s, row, f"({shifted} - {first} * {s.dilation}) // {s.stride}")
        self.first[s.tap], self.count[s.tap] = first, count
        if not self.joined:
            self._outputs(s)

    def _known_phase(self, s: Stretch, phase: int) -> None:
        """Define the position that the first tap of one of a program's phases reads."""
        n_taps = next(axis.size for axis in self.image.taps if axis.name == s.tap)
        taps = taps_of_phase(s, n_taps, phase)
        first = taps[0] if taps else 0
        self.first[s.tap], self.count[s.tap] = str(first), str(len(taps))
        start = (phase + s.padding - first * s.dilation) // s.stride
        self._reads_from(s, self.axis[s.out], str(start))

    def _outputs(self, s: Stretch) -> None:
        """Define the outputs of the program's phase from their rows."""
        out = self.names.new(f"out_{s.tap}")
        self.lines.add(f"{out} = {self.axis[s.out]} * {s.stride} + {self.position[s.out]}")
        self.axis[s.out] = out
        self._ends(s)

    def _ends(self, s: Stretch) -> None:
        """Leave out the rows that one of the phases has more than the outputs."""
        size = next(axis.size for axis in self.step.m if axis.name == s.out)
        if size % s.stride:
            self.lines.add(f"live_m = live_m & ({self.axis[s.out]} < {size})")

    def _join(self, s: Stretch) -> None:
        """Lay both phases' sums side by side, and define the rows that they are."""
        self.lines.add("acc = tl.join(even, odd).permute(0, 2, 1).reshape(2 * BLOCK_M, BLOCK_N)")
        self._rows(s.stride)
        for other in self.apart:
            if other.stride > 1:
                self._outputs(other)
        self._ends(s)

    def _reads_from(self, s: Stretch, row: str, start: str) -> None:
        """Define the position that the phase's first tap reads for the row."""
        name = self.names.new(f"from_{s.tap}")
        self.lines.add(f"{name} = {row} + {start}")
        self.position[s.tap] = name

    # --- the loop over k -------------------------------------------------------------------

    def _loop(self) -> None:
        n_taps = self._n_taps()
        depth = _times(n_taps, self.channels)
        blocks = self.channels // self.block["k"]
        if self.walk == _BLOCKS:
            self.lines.add(f"for step in range({_times(n_taps, blocks)}):")
        else:
            self.lines.add(f"for start in range(0, {depth}, BLOCK_K):")
        self.lines.depth += 1
        if self.walk == _BLOCKS:
            inner = f"step % {blocks} * BLOCK_K + " if blocks > 1 else ""
            self.lines.add(f"channel = {inner}tl.arange(0, BLOCK_K)")
            self.lines.add(f"tap = step // {blocks}" if blocks > 1 else "tap = step")
        else:
            self.lines.add("k = start + tl.arange(0, BLOCK_K)", f"live_k = k < {depth}")
            self.lines.add(f"channel = k % {self.channels}", f"tap = k // {self.channels}")
        self._taps()
        self.lines.add(f"a = {self._image_tile()}")
        self._products()
        self.lines.depth -= 1

    def _products(self) -> None:
        """Add the products of a block of k."""
        if not self.in_parts:
            precision = "ieee" if self.interpreted else "tf32"
            self.lines.add(f"b = {self._weight_tile('weight_ptr')}")
            self.lines.add(f'acc = tl.dot(a, b, acc, input_precision="{precision}")')
            return
        n = size_of(self.step.batch) * self.n_columns * self.row
        for part in range(3):
            pointer = "parts_ptr" + (f" + {part * n}" if part else "")
            self.lines.add(f"b{part} = {self._weight_tile(pointer)}")
        self.lines.add(*split_inside("a", interpreted=self.interpreted))
        self.lines.add(*FORMS["bf16x3_6"].multiplied(interpreted=self.interpreted))

    def _again_where_not_finite(self) -> None:
        """Recompute the tile in float32 if an infinity or NaN spread to more results than it
        should."""
        self.lines.add('if tl.min((tl.abs(acc) < float("inf")).to(tl.int32)) == 0:')
        self.lines.depth += 1
        self.lines.add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
        depth = _times(self.n_taps, self.channels)
        self.lines.add(f"for k in range({depth}):")
        self.lines.depth += 1
        known, self.walk = self.walk, _SINGLY
        self.lines.add(f"channel = k % {self.channels}", f"tap = k // {self.channels}")
        self._taps()
        self.lines.add(f"a_k = {self._image_tile()}", f"b_k = {self._weight_tile('weight_ptr')}")
        self.lines.add("acc += a_k[:, None] * b_k[None, :]")
        self.walk = known
        self.lines.depth -= 2

    def _n_taps(self) -> str:
        """Return the number of combinations of taps."""
        numbers = [self.count[axis.name] for axis in self.image.taps]
        known = math.prod(int(text) for text in numbers if text.isdigit())
        others = [text for text in numbers if not text.isdigit()]
        if others:
            self.lines.add(f"n_taps = {' * '.join([*others, str(known)])}")
        self.n_taps = "n_taps" if others else str(known)
        return self.n_taps

    def _taps(self) -> None:
        """Define the tap of every dimension from its number among the phase's taps."""
        rest = "tap"
        for axis in reversed(self.image.taps):
            name = self.names.new(axis.name)
            is_first = axis == self.image.taps[0]
            count = self.count[axis.name]
            # some phases have no taps, and a pipelined loop divides in advance
            if not count.isdigit():
                count = f"tl.maximum({count}, 1)"
            self.lines.add(f"{name} = {rest}" if is_first else f"{name} = {rest} % {count}")
            if not is_first:
                self.lines.add(f"rest = {rest} // {count}")
                rest = "rest"
            self.axis[axis.name] = name

    def _image_tile(self) -> str:
        """Return the load of the rows' values at the current k."""
        image, scalar = self.image, self.walk != _TILES
        row, column = ("", "") if scalar else ("[:, None]", "[None, :]")
        offsets = [f"{self.axis[a.name]} * {self._step(a)}" for a in image.taps]
        if image.channel:
            factor = image.coefficient[image.channel.name]
            within = f"channel * {factor}" if factor != 1 else "channel"
        else:
            within = "0 * channel"
        here = " + ".join(["a_start", *offsets])
        if self.walk == _SINGLY:
            index = f"{here} + {within}"
        elif scalar:
            index = f"({here})[:, None] + ({within})[None, :]"
        else:
            index = f"a_start[:, None] + ({' + '.join([*offsets, within])})[None, :]"
        masks = [f"live_m{row}"] + ([] if scalar else ["live_k[None, :]"])
        tile = Tile(self._shaped(row, column), self.tile.sizes)
        for bound in self.step.a.bounds:
            masks.extend(inside(bound, tile))
        for stretch in self.step.stretches:
            tap, apart = self.axis[stretch.tap], self._apart(stretch)
            here = f"{self.position[stretch.tap]}{row} - {tap}{column} * {apart}"
            masks += [f"({here} >= 0)", f"({here} < {stretch.size})"]
        self.lines.add(f"live = {' & '.join(masks)}")
        mask = "live[:, None]" if self.walk == _BLOCKS else "live"
        return f"tl.load(image_ptr + {index}, mask={mask}, other=0.0)"

    def _step(self, tap: Axis) -> int:
        """Return how far apart in memory two taps of a dimension read."""
        stretch = next((s for s in self.step.stretches if s.tap == tap.name), None)
        factor = self.image.coefficient[tap.name]
        return -factor * self._apart(stretch) if stretch else factor

    @staticmethod
    def _apart(stretch: Stretch) -> int:
        return stretch.dilation // math.gcd(stretch.stride, stretch.dilation)

    def _shaped(self, row: str, column: str) -> dict[str, str]:
        groups = {axis.name: self.axis[axis.name] for axis in self.step.batch}
        rows = {axis.name: self.axis[axis.name] + row for axis in self.step.m}
        taps = {axis.name: self.axis[axis.name] + column for axis in self.image.taps}
        channel = self.image.channel
        return groups | rows | taps | ({channel.name: "channel" + column} if channel else {})

    def _weight_tile(self, pointer: str) -> str:
        """Return the load of the columns' values at the current k."""
        along = f"{self._tap_number()} * {self.channels} + channel"
        if not self.step.stretches and self.walk != _BLOCKS:
            along = "k"
        if self.walk == _SINGLY:
            return f"tl.load({pointer} + b_start + {along}, mask=live_n, other=0.0)"
        is_short = self.walk == _TILES and self.step.stretches  # otherwise the rows are padded
        mask = "live_n[None, :]" + (" & live_k[:, None]" if is_short else "")
        index = f"b_start[None, :] + ({along})[:, None]"
        return f"tl.load({pointer} + {index}, mask={mask}, other=0.0)"

    def _tap_number(self) -> str:
        """Return the number of the current taps among all combinations of taps."""
        if not self.step.stretches:
            return "tap"
        text = ""
        for axis in self.image.taps:
            stretch = next((s for s in self.step.stretches if s.tap == axis.name), None)
            number = self.axis[axis.name]
            if stretch:
                every = stretch.stride // math.gcd(stretch.stride, stretch.dilation)
                number = f"{self.first[axis.name]} + {number} * {every}"
            text = f"({text}) * {axis.size} + {number}" if text else number
        return f"({text})"

    # --- what follows ----------------------------------------------------------------------

    def _epilogue(self) -> None:
        """Emit the step's body on the tile of sums."""
        tile = self.tile
        for axis in self.step.batch:
            tile.axis_text[axis.name] = self.axis[axis.name]
        for axes, shape in ((self.step.m, "[:, None]"), (self.step.n, "[None, :]")):
            for axis in axes:
                tile.axis_text[axis.name] = self.axis[axis.name] + shape
                tile.masks[axis.name] += shape
        body = Body(self.lines, self.names, interpreted=self.interpreted)
        outer = frozenset(a.name for a in (*self.step.batch, *self.step.m, *self.step.n))
        body.values["acc"] = Value("acc", "float32", outer)
        for op in self.step.body:
            if isinstance(op, PartTotal):
                self._total(op, body)
            elif isinstance(op, Reduce):
                self._fold(op, body)
            else:
                body.emit(op, tile)

    def _fold(self, op: Reduce, body: Body) -> None:
        """Emit a reduction over the columns, all of which the tile has."""
        assert self.tiles_n == 1, "the schedule's tiles have all columns"
        dtype, lanes = held(op.dtype), self.names.new(f"{op.name}_lanes")
        value = body.argument(op.arg, dtype)
        self.lines.add(f"{lanes} = tl.where(live_n[None, :], {value}, {neutral(op.op, dtype)})")
        axes = (axis.name for axis in (*self.step.batch, *self.step.m))
        body.define(op.name, reduce(op.op, lanes, 1, dtype, keep_dims=True), op.dtype, axes)

    def _total(self, op: PartTotal, body: Body) -> None:
        """Emit the total of a part's rows, which are the rows of the tile."""
        assert op.rows == self.block["m"], "the schedule's tiles have the rows of a part"
        value, rows = body.argument(op.value, "float32"), self.names.new("rows")
        self.lines.add(f"{rows} = tl.where(live_m[:, None], {value}, 0.0)")
        if op.op == "spread":
            mean = self.names.new("mean")
            count = f"tl.minimum(BLOCK_M, {self.n_rows} - tile_m * BLOCK_M)"
            self.lines.add(
                f"{mean} = tl.sum({rows}, 0) / {count}.to(tl.float32)",
                f"{rows} = tl.where(live_m[:, None], {value} - {mean}[None, :], 0.0)",
                f"{rows} *= {rows}",
            )
        index = affine(op.index, {axis.name: self.axis[axis.name] for axis in self.step.n})
        place = f"{tile_name(op.tensor)} + tile_m * {op.tensor.strides[0]} + {index}"
        self.lines.add(f"tl.store({place}, tl.sum({rows}, 0), mask=live_n)")


def block_text(letter: str, phases: int) -> str:
    """Return the number of rows or columns of a tile that has so many phases."""
    big = f"BLOCK_{letter.upper()}"
    return big if phases == 1 else f"({phases} * {big})"


def _times(text: str, factor: int) -> str:
    return str(int(text) * factor) if text.isdigit() else f"{text} * {factor}"
