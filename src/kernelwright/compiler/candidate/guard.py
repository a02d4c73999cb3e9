"""What a candidate looks at in every call before kernels get addresses: its inputs, its weights,
its parts, and torch's modes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelwright.compiler.candidate import unchanged

IMPORTS = (
    "import functools", "import operator", "import torch", "import types",
    "import warnings", "import weakref", "from operator import is_", "from torch import nn",
    "from torch._C._dynamo.guards import TensorGuards, dict_version",
)  # fmt: skip
_NUMBERS = "class Numbers:"
"""Where the part of the text begins that notices changes of the weights' numbers."""
_FITS = '''\
def _keys(*names):
    keys = [torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)) for name in names]
    return functools.reduce(operator.or_, keys).raw_repr()


# What torch's dispatcher sees where tensors are plain memory and no mode of its is on; the second
# of each in inference mode.
MODES = (_keys("BackendSelect", "ADInplaceOrView"), _keys("BackendSelect"))
TENSORS = (
    _keys("{keys}", "ADInplaceOrView", "Autograd{keys}", "Autocast{keys}"),
    _keys("{keys}", "Autocast{keys}"),
)
PLAIN = (torch.Tensor, nn.Parameter)
MOST_KNOWN = 1000  # forms of inputs that are known to be missed
TRACED = (
    *PLAIN,
    torch._subclasses.fake_tensor.FakeTensor,
    torch._subclasses.functional_tensor.FunctionalTensor,
)


def _way(direct, traced, expected, *tensors):
    """How a call on these inputs may be served: ``direct`` where launches can take the addresses of
    tensors, ``traced`` where torch records operators, else the reason why it may not."""
    if torch.compiler.is_dynamo_compiling():
        return traced
    if (
        torch._C._dispatch_tls_local_include_set().raw_repr() in MODES
        and torch.autograd.forward_ad._current_level < 0
        and all(
            type(tensor) in PLAIN and torch._C._dispatch_keys(tensor).raw_repr() in TENSORS
            for tensor in tensors
        )
    ):
        return direct
    if not all(type(tensor) in TRACED for tensor in tensors):
        return "an input is not a plain tensor"
    if torch._C._functorch.peek_interpreter_stack() is not None or torch.jit.is_tracing():
        return "it is transformed by torch.func, or traced by torch.jit"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode gradients are wanted"
    if any(tensor.is_neg() or tensor._is_zerotensor() for tensor in tensors):
        return "an input is the negative of what its memory holds, or has no memory"
    for tensor, (name, shape, *_) in zip(tensors, expected):  # asking would make a symbol a number
        if any(isinstance(n, int) > isinstance(seen, int) for n, seen in zip(shape, tensor.shape)):
            return f"a size of {{name}} that the kernels hold fixed is a symbol"
    return traced


def _wants_gradients(*tensors):
    """Whether inputs want gradients, which the kernels do not give."""
    return any(getattr(tensor, "requires_grad", False) for tensor in tensors)


def _size(value, dim):
    """A size of an input; 0 where it has no such dimension."""
    return value.shape[dim] if isinstance(value, torch.Tensor) and value.dim() > dim else 0


def _has_form(tensor, shape, strides, dtype):
    """Whether kernels that get the tensor's address read what it holds."""
    return (
        type(tensor) in TRACED
        and tensor.dtype == dtype
        and tensor.shape == shape
        and tensor.stride() == strides
        and tensor.is_{device}
    )


AUTOCAST = "autocast is on; turn it off, and give inputs of the kernels' own dtypes"


def _unfit(expected, known, *tensors):
    """Why the kernels are not made for these inputs; what forms alone decide becomes ``known``."""
    for tensor, (name, *form) in zip(tensors, expected):
        if _has_form(tensor, *form):
            continue
        if torch.compiler.is_dynamo_compiling():  # whose sizes may be symbols, which are no text
            return f"{{name}} has another form than the kernels are made for"
        reason = (
            f"{{name}} is not of the shape, strides and dtype {{tuple(form)}} on {device}; "
            "kernels for other forms come from a search with such inputs"
        )
        if all(type(each) is torch.Tensor for each in tensors):
            if (tensor.shape, tensor.stride(), tensor.dtype) != tuple(form):
                if len(known) >= MOST_KNOWN:
                    known.clear()
                forms = ((each.shape, each.stride(), each.dtype) for each in tensors)
                known[tuple(part for form in forms for part in form)] = reason
        return reason
    return ""'''
_VALUES = '''


def _other_values(values, *tensors):
    """Why the integers that forward reads on the host are not those of the kernels."""
    for tensor, (name, expected) in zip(tensors, values):
        if torch.compiler.is_dynamo_compiling() or type(tensor) not in PLAIN:
            return f"nobody can read the values of {{name}} while torch traces"
        if tensor.tolist() != expected:
            return f"{{name}} has other values than the kernels are made for"
    return ""'''


def checks_text(device_kind: str, kernels: str = "", *, values: bool = False) -> str:
    """The functions that tell why a call is not one that the kernels were made for.

    ``device_kind`` is 'cpu' or 'cuda'; ``kernels`` is the text of the kernels and of the methods
    that use them, which may keep what they make of the weights; ``values``: whether some inputs
    must have certain values.
    """
    source = inspect.getsource(unchanged)
    looks, numbers = source[source.index("class Kept:") :].split(_NUMBERS)
    keeps = "made_of(" in kernels or "Numbers(" in kernels
    fits = (_FITS + _VALUES if values else _FITS).format(
        device=device_kind, keys=device_kind.upper()
    )
    return "\n\n\n".join([looks.strip(), *([_NUMBERS + numbers.rstrip()] if keeps else []), fits])


def form_text(shape: Sequence[int], strides: Sequence[int], dtype: str) -> str:
    """The form of a tensor, as the tables have it; ``dtype`` is torch's name of it."""
    return f"{tuple(shape)}, {tuple(strides)}, torch.{dtype}"


def known_table(name: str) -> str:
    """The table of forms that are known to be missed, which fills as calls come."""
    return f"{name} = {{}}  # shape, strides and dtype of every input, which were missed → why"


def inputs_table(name: str, forms: Iterable[tuple[str, str]], sizes: Sequence[str] = ()) -> str:
    """The table of the inputs for ``_unfit``, from (name, form): a function of the free sizes."""
    rows = [f'"{each}", {form}' for each, form in forms]
    about = "name, shape, strides and dtype of every input"
    return _table(name, about, rows, f"lambda {', '.join(sizes)}: " if sizes else "")


def values_table(name: str, read: Mapping[str, Any]) -> str:
    """The table of the integers for ``_other_values``, by the names of the inputs."""
    rows = [f'"{each}", {values!r}' for each, values in read.items()]
    return _table(name, "name and values of every input that forward reads on the host", rows)


def modules_table(
    name: str,
    modules: Mapping[str, Any],
    weights: Iterable[tuple[str, str]],
    gradients: Sequence[str] = (),
) -> str:
    """The table of a module's parts, from ``unchanged.description_of``, and of its weights, from
    (path, form). ``gradients``: the paths of those whose gradients the kernels give."""
    lines = [
        "    {  # by path: class and attributes of every part of the module",
        *(f"        {path!r}: {part!r}," for path, part in modules.items()),
        "    },",
        "    __name__,",
        "    (  # place, name, shape, strides and dtype of every weight",
        *(f"        ({_weight_row(path, form)})," for path, form in weights),
        "    ),",
        "    _has_form,",
    ]
    if gradients:
        paths = (f'        "{path}",' for path in gradients)
        lines += ["    (  # the weights that get gradients", *paths, "    ),"]
    return "\n".join([f"{name} = Described(", *lines, ")"])


def _weight_row(path: str, form: str) -> str:
    *parts, last = path.split(".")
    return f"{tuple(parts)!r}, {last!r}, {form}".replace("'", '"')


def _table(name: str, about: str, rows: Iterable[str], head: str = "") -> str:
    lines = "\n".join(f"    ({row})," for row in rows)
    return f"{name} = {head}(  # {about}\n{lines}\n)"
