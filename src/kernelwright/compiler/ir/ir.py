"""The loop language between fusion and the emitters: what a kernel computes, not how.

A ``Program`` is what ``forward`` does: a list of steps over named tensors. A step is a ``Call``
(PyTorch runs it), or own code: a ``Contraction`` (a matrix product or convolution with its
epilogue), a ``Recurrence`` (a whole recurrent network), ``Attention`` or a ``Kernel``. A kernel is
a loop nest

    for outer axes (independent of each other):        scope "outer"
        for inner axes (reduced or scanned over):      scope "inner"

with a body of named values in static single assignment. A value that depends on an inner axis has
scope "inner"; all others have scope "outer". A ``Reduce`` turns an inner value into an outer one by
running over *all* inner axes, so a body may go through the inner loop several times: softmax is
load, Reduce max, subtract, exp, Reduce sum, divide, store. A ``Total`` is a sum over *all* outer
axes, which is finished when the kernel ends. Emitters decide how: where loops split,
which values are recomputed or kept in a row buffer, which axis is vectorised, and what runs in
parallel.

Everything is frozen, and equal programs compare equal: a schedule is a separate argument of the
emitter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

POINTWISE = {  # name → number of arguments; meaning as the torch operator of that name.
    # 'rshift' moves integers by a constant, less than the number of their bits.
    # 'within' is an index that is refused where it is not one of so many, as torch refuses it
    "add": 2, "sub": 2, "mul": 2, "div": 2, "maximum": 2, "minimum": 2, "pow": 2, "fmod": 2,
    "atan2": 2, "neg": 1, "abs": 1, "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "log2": 1,
    "sqrt": 1, "rsqrt": 1, "reciprocal": 1, "sin": 1, "cos": 1, "tanh": 1, "sigmoid": 1, "erf": 1,
    "floor": 1, "ceil": 1, "round": 1, "trunc": 1, "sign": 1, "square": 1, "relu": 1,
    "lt": 2, "le": 2, "gt": 2, "ge": 2, "eq": 2, "ne": 2,
    "and": 2, "or": 2, "xor": 2, "rshift": 2, "not": 1, "isnan": 1, "isinf": 1, "where": 3,
    "cast": 1, "within": 2,
}  # fmt: skip
NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Types that memory holds and in which nothing is computed: such values are float32 in between."""
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
SCANS = ("sum", "prod", "max", "min", "decay")
"""'decay' is the value before times a factor, plus the argument; it starts from zero."""


@dataclass(frozen=True)
class Tensor:
    """A tensor in memory. ``strides`` are in elements; ``dtype`` is torch's name, such as
    'float32'."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]

    @property
    def n_elements(self) -> int:
        return math.prod(self.shape)


def contiguous(name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
    """Return a row-major tensor."""
    strides = tuple(math.prod(shape[place:]) for place in range(1, len(shape) + 1))
    return Tensor(name, shape, dtype, strides)


@dataclass(frozen=True)
class Axis:
    """A loop: ``for name in range(size)``."""

    name: str
    size: int


@dataclass(frozen=True)
class Affine:
    """``offset + sum(coefficient * axis)``, in elements; terms sorted by axis name, no zeros."""

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0

    @classmethod
    def of(cls, coefficients: dict[str, int], offset: int = 0) -> Affine:
        return cls(tuple(sorted((a, c) for a, c in coefficients.items() if c)), offset)

    def coefficient(self, axis: str) -> int:
        return dict(self.terms).get(axis, 0)

    @property
    def axes(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)


@dataclass(frozen=True)
class Bound:
    """``low <= index < high``: the range in which a load is inside its tensor (padding,
    concatenation)."""

    index: Affine
    low: int
    high: int


@dataclass(frozen=True)
class Load:
    """``tensor[index]``, or ``fill`` where a bound does not hold.

    ``gather`` adds ``stride * value`` to the index for integer values computed in the body
    (embedding, the target column of a loss).
    """

    name: str
    tensor: Tensor
    index: Affine
    bounds: tuple[Bound, ...] = ()
    fill: float = 0.0
    gather: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Const:
    """A number of the given dtype."""

    name: str
    value: float | int | bool
    dtype: str


@dataclass(frozen=True)
class Iota:
    """The integer value of an affine expression of the axes (int64)."""

    name: str
    index: Affine


@dataclass(frozen=True)
class Compute:
    """``op`` of POINTWISE on named values; ``dtype`` is the result's (for 'cast': the target)."""

    name: str
    op: str
    args: tuple[str, ...]
    dtype: str

    def __post_init__(self) -> None:
        if POINTWISE.get(self.op) != len(self.args):
            raise ValueError(f"{self.op} of {len(self.args)} values is no operator of a kernel")


@dataclass(frozen=True)
class Reduce:
    """``op`` of REDUCTIONS over all inner axes: an inner value becomes an outer value."""

    name: str
    op: str
    arg: str
    dtype: str


@dataclass(frozen=True)
class Scan:
    """Inclusive scan with ``op`` of SCANS along the kernel's only inner axis; scope inner."""

    name: str
    op: str
    arg: str
    dtype: str
    reverse: bool = False
    exclusive: bool = False
    factor: str = ""
    """The factor of the value before; only in a 'decay'."""


@dataclass(frozen=True)
class Store:
    """``tensor[index] = value``, in the scope of its index and value.

    A kernel allocates the tensor that it stores to, or overwrites a tensor of an earlier step in
    place. In the second case every load of that tensor has the store's index, or that index without
    the inner axes (the row's first element).
    """

    tensor: Tensor
    index: Affine
    value: str


@dataclass(frozen=True)
class Total(Store):
    """``tensor[index]`` = the sum of ``value`` over all outer axes: the gradient of a weight or a
    bias, beside a kernel's rows.

    The index has all inner axes and no outer ones. The kernel allocates the tensor.
    """


@dataclass(frozen=True)
class PartTotal(Store):
    """``tensor[part, n]`` = what ``op`` gives of ``value`` over each ``rows`` neighbouring rows of
    a contraction, in row-major order of ``m``; the last part may have fewer rows.

    The index has the axes of ``n`` alone: the part is the tensor's first dimension.
    """

    op: str
    """'sum', or 'spread': the sum of squared distances from the part's own mean."""
    rows: int


Op = Load | Const | Iota | Compute | Reduce | Scan | Store


@dataclass(frozen=True)
class Kernel:
    """One fused loop nest. ``inner`` is empty for a purely pointwise kernel."""

    name: str
    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    body: tuple[Op, ...]
    origin: tuple[str, ...] = ()
    """Its origin, for comments in the emitted source: 'relu <- aten.relu', rule names."""

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The tensors that the kernel loads from, in order of first use."""
        return tuple(dict.fromkeys(op.tensor for op in self.body if isinstance(op, Load)))

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The tensors that the kernel stores to, in order of first use."""
        return tuple(dict.fromkeys(op.tensor for op in self.body if isinstance(op, Store)))

    def scopes(self) -> dict[str, str]:
        """Return the scope of every named value: 'inner' or 'outer'."""
        inner = {axis.name for axis in self.inner}
        scope: dict[str, str] = {}
        for op in self.body:
            match op:
                case Load():
                    names = op.index.axes.union(*(bound.index.axes for bound in op.bounds))
                    deep = bool(names & inner) or any(scope[v] == "inner" for v, _ in op.gather)
                case Iota():
                    deep = bool(op.index.axes & inner)
                case Const() | Reduce():
                    deep = False
                case Compute():
                    deep = any(scope[arg] == "inner" for arg in op.args)
                case Scan():
                    deep = True
                case Store():
                    continue
            scope[op.name] = "inner" if deep else "outer"
        return scope

    def renamed(self, name: str) -> Kernel:
        return replace(self, name=name)


@dataclass(frozen=True)
class Stretch:
    """How a transposed convolution reads along one dimension: at the position ``(out + padding -
    dilation * tap) / stride``, and zero where that is not an integer from 0 to ``size - 1``. The
    load's index has the position's coefficient at ``out``, and none at ``tap``."""

    out: str
    """An axis of ``m``."""
    tap: str
    """An axis of ``k``."""
    size: int
    stride: int
    padding: int
    dilation: int


@dataclass(frozen=True)
class Groups:
    """Rows of a product in groups, side by side, each of which has a matrix ``b`` of its own, as
    tokens have that are sorted by their experts. Rows after the last group's end are zero."""

    ends: Tensor
    """Where each group ends among the rows: int32, ascending. A group may be empty."""
    step: int
    """Elements in memory from one group's matrix to the next one's; ``b`` is the first one's."""


@dataclass(frozen=True)
class Contraction:
    """``acc[batch, m, n] = sum over k of a * b``, then an epilogue on every element.

    A matrix product has one axis in each group; a convolution has (image, row, column) in ``m``,
    output channels in ``n``, (input channel, kernel row, kernel column) in ``k``, and bounds on
    ``a`` for its padding. ``a`` is indexed by batch, m and k axes, ``b`` by batch, k and n axes.
    The body reads the sum under the name ``acc`` (float32) and stores what it computes; it may
    load other tensors, and has no scans. A ``Reduce`` in it runs over all axes of ``n``, as a
    softmax over the channels of a convolution does; and it may have totals of parts of its rows.

    An operand may be computed where it is read: ``a_made`` are then the ops that do so from the
    load ``a`` and others, and the last one's value is the operand. Rows that are gathered, and
    weights that are unpacked, need no copy in memory.
    """

    name: str
    batch: tuple[Axis, ...]
    m: tuple[Axis, ...]
    n: tuple[Axis, ...]
    k: tuple[Axis, ...]
    a: Load
    b: Load
    body: tuple[Op, ...]
    origin: tuple[str, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    """The stretches of ``a``: one per spatial dimension of a transposed convolution."""
    tf32: bool = False
    """Whether the reference's operator may round its operands to TF32, as convolutions do on a GPU
    (``torch.backends.cudnn.allow_tf32``, true by default)."""
    a_made: tuple[Op, ...] = ()
    b_made: tuple[Op, ...] = ()
    dtypes: tuple[str, str] = ("", "")
    """The types of operands that are computed; empty for those that are loads."""
    groups: Groups | None = None
    twin: Load | None = None
    """A second operand like ``b``, as a gate's weights are beside those of what it gates. The body
    reads the sums of ``a`` times it under the name ``acc_twin``."""

    @property
    def ops(self) -> tuple[Op, ...]:
        """All operations: those of the operands, then those of the epilogue."""
        twin = (self.twin,) if self.twin else ()
        return (self.a, self.b, *twin, *self.a_made, *self.b_made, *self.body)

    @property
    def operand_dtypes(self) -> tuple[str, str]:
        """The types in which the operands are given to the product."""
        return self.dtypes[0] or self.a.tensor.dtype, self.dtypes[1] or self.b.tensor.dtype

    @property
    def is_in_memory(self) -> bool:
        """Whether it multiplies operands as they are in memory, all rows by the same."""
        return not (self.a_made or self.b_made or self.groups)

    @property
    def is_plain(self) -> bool:
        """Whether it is one product, or a convolution, of two operands that are in memory."""
        return self.is_in_memory and not self.twin

    @property
    def sums(self) -> tuple[tuple[str, Load], ...]:
        """The sums that the body reads, each with the operand that ``a`` is multiplied by."""
        return (("acc", self.b), *((("acc_twin", self.twin),) if self.twin else ()))

    @property
    def folds(self) -> tuple[Reduce, ...]:
        """The reductions over the step's columns."""
        return tuple(op for op in self.body if isinstance(op, Reduce))

    @property
    def part_totals(self) -> tuple[PartTotal, ...]:
        """What the step adds up over parts of its rows."""
        return tuple(op for op in self.body if isinstance(op, PartTotal))

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The tensors that the step loads from: the operands, then those of the epilogue."""
        tensors = [op.tensor for op in self.ops if isinstance(op, Load)]
        ends = [self.groups.ends] if self.groups else []
        return tuple(dict.fromkeys([*tensors, *ends]))

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The tensors that the step stores to, in order of first use."""
        return tuple(dict.fromkeys(op.tensor for op in self.body if isinstance(op, Store)))


@dataclass(frozen=True)
class Recurrence:
    """A recurrent network over whole sequences, with all its layers and directions.

    It means the same as torch's operator of that name: 'lstm', 'gru', 'rnn_tanh' or 'rnn_relu'.
    ``weights`` has, per layer and direction, the weights for the input, those for the hidden state,
    and, if ``biased``, the two biases. ``states`` are the first hidden states (and cell states);
    ``results`` are the last layer's sequence and the last states.
    """

    name: str
    cell: str
    x: Tensor
    states: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    n_layers: int
    biased: bool
    bidirectional: bool
    batch_first: bool
    origin: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The tensors that the step loads from: the input, the states, the weights."""
        return tuple(dict.fromkeys((self.x, *self.states, *self.weights)))

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The tensors that the step stores to."""
        return self.results

    @property
    def hidden(self) -> int:
        """Number of hidden units of a layer in one direction."""
        return self.states[0].shape[-1]

    @property
    def n_directions(self) -> int:
        return 2 if self.bidirectional else 1


@dataclass(frozen=True)
class Attention:
    """``softmax(q kᵀ scale) v`` over the last two of four dimensions. If ``causal``, position i
    attends to the positions up to i. Several heads of q may share one of k and v."""

    name: str
    q: Tensor
    k: Tensor
    v: Tensor
    result: Tensor
    scale: float
    causal: bool
    origin: tuple[str, ...] = ()
    cap: float = 0.0
    """A score s becomes ``cap * tanh(s / cap)``, unless this is 0."""
    mask: Tensor | None = None
    """Which keys a query sees, if bool; else the mask is added to the scores. It is broadcast to
    their shape, but has all keys."""
    spans: tuple[Tensor, ...] = ()
    """For each row of a bool mask, as int32: the first key that is seen, the end of the last one,
    and the number of those that are seen."""

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The tensors that the step loads from."""
        masks = (self.mask,) if self.mask else ()
        return tuple(dict.fromkeys((self.q, self.k, self.v, *masks, *self.spans)))

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The tensor that the step stores to."""
        return (self.result,)


@dataclass(frozen=True)
class Call:
    """A step that PyTorch runs: ``target(*args, **kwargs)`` → ``outputs``.

    ``target`` is the dotted name to emit, for example 'torch.ops.aten.convolution.default' or
    'torch.mm'. Arguments are Python literals, or a ``Ref`` for a value of the program.
    """

    target: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    outputs: tuple[Tensor, ...] = ()
    origin: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ref:
    """A reference to a tensor of the program by name, inside a Call's arguments."""

    name: str


Step = Call | Kernel | Contraction | Recurrence | Attention


@dataclass(frozen=True)
class FreeSize:
    """A size that a program takes from its inputs, and the range in which the program is valid."""

    name: str
    tensor: str
    """The input that has it."""
    dim: int
    least: int
    most: int | None


@dataclass(frozen=True)
class Program:
    """The steps by which ``forward`` computes its result from its inputs.

    ``attributes`` maps tensor names to attribute paths of the module ('w' → 'conv.weight').
    ``outputs`` is what ``forward`` returns: a ``Ref``, or tuples, lists, dictionaries and literals
    with ``Ref`` inside.
    """

    inputs: tuple[Tensor, ...]
    attributes: tuple[tuple[Tensor, str], ...]
    steps: tuple[Step, ...]
    outputs: Any
    mutations: tuple[tuple[str, str], ...] = ()
    """(tensor name, attribute path): buffers that forward updates, such as running statistics."""
    lineage: tuple[str, ...] = field(default=())
    """The rules applied so far, in order."""
    checks: tuple[str, ...] = ()
    """Names of results (Python truth values, computed from attributes alone) that must hold. If one
    does not, the program is invalid and the reference's forward runs instead."""
    sizes: tuple[FreeSize, ...] = ()
    """The sizes that each call may choose; integers that follow them are ``sizes.Size``."""

    def own(self) -> Iterator[Kernel | Contraction | Recurrence | Attention]:
        """The steps that own code computes."""
        return (step for step in self.steps if not isinstance(step, Call))
