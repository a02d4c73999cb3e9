"""Admission: which texts that others wrote may be tried, by a grammar over their syntax tree.

Our own emitters' texts need no admission. A text that a model, a user or a plugin wrote would run
in a process that has the user's rights, so the grammar lists what is allowed, which is little:
Triton kernels, a module class, and calls of torch that compute. Everything else is refused. It
protects the machine: an admitted Triton kernel can still write outside of its tensors and spoil the
trials beside it, which are no verdicts.

Not covered:
    C++ and CUDA C++, whose text can do anything; and what a call costs in time and memory.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from typing import Any

DIALECTS = ("torch", "triton")
"""The dialects whose files the grammar can admit."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPORTS = _names("math torch torch.nn torch.nn.functional triton triton.language")
"""Modules that may be imported."""
FROM_IMPORTS = {
    "torch": _names("nn Tensor"),
    "torch.nn": _names("functional"),
    "triton": _names("language"),
    "triton.language.extra": _names("libdevice"),
}
"""Names that may be imported from modules."""
BUILTINS = _names(
    "abs bool enumerate float int isinstance len list max min range reversed round super sum tuple "
    "zip"
)
MEMBERS = {
    "math": _names("ceil cos e erf exp floor inf log log2 pi pow sin sqrt tan tanh"),
    "torch": _names(
        "Size Tensor abs add addmm amax amin arange argmax argmin baddbmm bfloat16 bmm bool cat "
        "ceil chunk clamp cos cumsum device div dot einsum empty empty_like empty_strided eq erf "
        "exp expm1 flatten float16 float32 float64 floor full full_like ge gelu gt int16 int32 "
        "int64 int8 le log log1p lt matmul max maximum mean min minimum mm mul mv ne neg nn ones "
        "ones_like outer permute pow prod rand randn reciprocal relu reshape rsqrt sigmoid sign "
        "sin softmax split sqrt square stack sub sum tan tanh tensor transpose tril triu uint8 "
        "unbind var var_mean where zeros zeros_like"
    ),
    "torch.nn": _names(
        "AvgPool1d AvgPool2d AvgPool3d BatchNorm1d BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d "
        "ConvTranspose1d ConvTranspose2d ConvTranspose3d Dropout ELU Embedding Flatten GELU "
        "GroupNorm Hardsigmoid Hardswish Hardtanh InstanceNorm1d InstanceNorm2d InstanceNorm3d "
        "LayerNorm LeakyReLU Linear LogSoftmax MaxPool1d MaxPool2d MaxPool3d Mish Module "
        "ModuleList Parameter RMSNorm ReLU ReLU6 SELU Sequential SiLU Sigmoid Softmax Softplus "
        "Softshrink Softsign Tanh Tanhshrink functional"
    ),
    "torch.nn.functional": _names(
        "adaptive_avg_pool2d avg_pool1d avg_pool2d avg_pool3d batch_norm conv1d conv2d conv3d "
        "conv_transpose1d conv_transpose2d conv_transpose3d cross_entropy elu embedding gelu "
        "group_norm hardsigmoid hardswish hardtanh layer_norm leaky_relu linear log_softmax "
        "max_pool1d max_pool2d max_pool3d mish mse_loss normalize pad relu rms_norm "
        "scaled_dot_product_attention sigmoid silu softmax softplus tanh"
    ),
    "triton": _names("Config autotune cdiv jit language next_power_of_2"),
    "triton.language": _names(
        "abs advance arange argmax argmin atomic_add atomic_max atomic_min bfloat16 broadcast_to "
        "cat cdiv clamp constexpr cos cumprod cumsum div_rn dot erf exp exp2 expand_dims fdiv "
        "flip float16 float32 float64 floor fma full int16 int32 int64 int8 join load log log2 "
        "make_block_ptr max max_constancy max_contiguous maximum min minimum multiple_of "
        "num_programs permute program_id range ravel reshape rsqrt sigmoid sin softmax sort split "
        "sqrt sqrt_rn static_range store sum swizzle2d trans uint8 view where xor_sum zeros "
        "zeros_like"
    ),
    "triton.language.extra.libdevice": _names(
        "abs ceil cos erf exp exp2 expm1 fast_expf floor fma log log1p log2 pow rsqrt sin sqrt tan "
        "tanh"
    ),
}
"""The members of each module that may be used: none is a module that is not in this table."""
ATTRIBUTES = _names(
    "T abs add all alpha amax amin any beta bfloat16 bias bool ceil_mode chunk clamp contiguous "
    "cos data device dilation dim div dtype element_size element_ty eps exp expand expand_as "
    "flatten float groups half int is_contiguous is_cuda item kernel_size lambd log long mT "
    "masked_fill matmul max max_val mean min min_val mul ndim neg negative_slope new_empty "
    "new_zeros normalized_shape num_features num_groups numel padding permute pow requires_grad "
    "reshape rsqrt shape sigmoid sin size softmax split sqrt squeeze stride sub sum t tanh to "
    "transpose type_as unbind unflatten unsqueeze value var view view_as weight"
)
"""Attributes of tensors, layers and Triton's values."""
NODES = (
    ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.ClassDef, ast.arguments,
    ast.arg, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.If, ast.For,
    ast.Pass, ast.Assert, ast.Call, ast.keyword, ast.Name, ast.Attribute, ast.Subscript, ast.Slice,
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List,
    ast.Dict, ast.Starred, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.comprehension,
    ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
"""Kinds of nodes that a text may consist of."""
SHADOWED = _names("input")
"""Builtin functions whose names a text may give to its arguments: one that is called after all does
no harm, since a worker has no standard input."""
CONSTRUCTOR = "__init__"
"""The only name with a leading underscore that a text may use."""


def refusal(source: str) -> str:
    """Return why a candidate's text is not admitted, with its line; empty if it is admitted."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return next(_Grammar(tree).complaints(), "")


class _Grammar:
    """What one text imports and defines, against which its names are looked up."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._modules: dict[str, str] = {}
        """Name → what it was imported from, by its full name."""
        self._defined: set[str] = set()
        self._own: set[str] = set()
        """Attributes that the text sets, and its methods: they are looked up on ``self`` alone."""
        self._bases: set[int] = set()
        """The nodes that an attribute is taken of."""
        self._selves: set[int] = set()
        """The arguments that are a method's first."""
        for node in ast.walk(tree):
            self._note(node)

    def complaints(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            complaint = self._complaint(node)
            if complaint:
                yield f"line {getattr(node, 'lineno', 0)}: {complaint}"

    def _note(self, node: ast.AST) -> None:
        """Note what a node defines."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                self._modules[bound] = origin + alias.name if alias.asname or origin else bound
        elif isinstance(node, ast.FunctionDef):
            self._defined.add(node.name)
        elif isinstance(node, ast.ClassDef):
            self._defined.add(node.name)
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    self._own.add(method.name)
                    self._selves |= {id(arg) for arg in method.args.args[:1]}
        elif isinstance(node, ast.arg):
            self._defined.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._defined.add(node.id)
        elif isinstance(node, ast.Attribute):
            self._bases.add(id(node.value))
            if isinstance(node.ctx, ast.Store):
                self._own.add(node.attr)

    def _complaint(self, node: ast.AST) -> str:
        """Return what is wrong with a node itself, if anything."""
        checks: dict[type[ast.AST], Callable[[Any], str]] = {
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.ClassDef: self._class,
            ast.FunctionDef: self._function,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.arg: self._argument,
        }
        if not isinstance(node, NODES):
            return f"{type(node).__name__} is not allowed"
        check = checks.get(type(node))
        return check(node) if check else ""

    def _import(self, node: ast.Import) -> str:
        refused = [alias.name for alias in node.names if alias.name not in IMPORTS]
        return f"import of {refused[0]}" if refused else self._bound(node.names)

    def _import_from(self, node: ast.ImportFrom) -> str:
        allowed = FROM_IMPORTS.get(node.module or "", frozenset()) if not node.level else ()
        refused = [alias.name for alias in node.names if alias.name not in allowed]
        where = f"import of {refused[0]} from {node.module}" if refused else ""
        return where or self._bound(node.names)

    def _bound(self, names: list[ast.alias]) -> str:
        complaints = (self._definition(alias.asname or "") for alias in names)
        return next(filter(None, complaints), "")

    def _class(self, node: ast.ClassDef) -> str:
        bases = [self._dotted(base) for base in node.bases]
        if bases != ["torch.nn.Module"] or node.keywords or node.decorator_list:
            return f"class {node.name} is no plain torch.nn.Module"
        return self._definition(node.name)

    def _function(self, node: ast.FunctionDef) -> str:
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._dotted(named) not in ("triton.jit", "triton.autotune"):
                return f"a decorator of {node.name} is not allowed"
        if node.name in ATTRIBUTES:  # or it could be called on anything by that name
            return f"a function is called {node.name}, like an attribute of tensors"
        return self._definition(node.name)

    def _argument(self, node: ast.arg) -> str:
        if node.arg == "self" and id(node) not in self._selves:
            return "self is no method's first argument"
        return self._definition(node.arg)

    def _name(self, node: ast.Name) -> str:
        if isinstance(node.ctx, ast.Store):
            return "self is set" if node.id == "self" else self._definition(node.id)
        if self._modules.get(node.id) in MEMBERS and id(node) not in self._bases:
            return f"the module {node.id} is used as a value"
        if node.id not in self._defined | self._modules.keys() | BUILTINS:
            return f"{node.id} is neither defined here nor allowed"
        return ""

    def _definition(self, name: str) -> str:
        """A name must mean the same everywhere: what is local in one function is not in another."""
        if name == CONSTRUCTOR:
            return ""
        if name.startswith("_"):
            return f"{name} begins with an underscore"
        is_builtin = hasattr(builtins, name) and name not in SHADOWED
        is_taken = is_builtin or (name in self._defined and name in self._modules)
        return f"{name} is redefined" if is_taken else ""

    def _attribute(self, node: ast.Attribute) -> str:
        name, module = node.attr, self._dotted(node.value)
        if name.startswith("_"):
            is_call = name == CONSTRUCTOR and isinstance(node.value, ast.Call)
            return "" if is_call else f"{name} begins with an underscore"
        is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if isinstance(node.ctx, ast.Store) and not is_self:
            return f"attribute {name} is set on something else than self"
        allowed = MEMBERS.get(module or "", ATTRIBUTES)
        if name in allowed or (is_self and name in self._own):
            return ""
        return f"{module}.{name} is not allowed" if module else f"attribute {name} is not allowed"

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the full name of what hangs on an import; None for anything else."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            whole = self._dotted(node.value)
            return None if whole is None else f"{whole}.{node.attr}"
        return None
