"""How generated code reaches a module's parameters, and holds them where there is no source."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

REBUILT = '''\
class Part(nn.Module):
    """A place for parameters under the names that the state has."""

    def __getitem__(self, position):
        return getattr(self, str(position))


def _place(module, path, value, persistent=True):
    """Make the parameter or buffer ``path``, and the parts on the way to it."""
    *parts, name = path.split(".")
    for part in parts:
        if part not in module._modules:
            module.add_module(part, Part())
        module = module._modules[part]
    if isinstance(value, nn.Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value, persistent)'''

UNPACKED = '''\
def _unpacked(text, shape, dtype):
    """The numbers of a buffer that no state holds."""
    numbers = bytearray(zlib.decompress(base64.b85decode(text)))
    return torch.frombuffer(numbers, dtype=dtype).reshape(shape)'''

FROM_TABLES = """
        for path, shape, dtype, text in TABLES:
            _place(self, path, _unpacked(text, shape, dtype), persistent=False)"""
MOST_TABLE_BYTES = 1 << 20
"""Characters of all tables in a file; those of rotary and relative positions have thousands."""

REFUSED = '''\
def _refusal(module, given, named):
    """What the kernels are made for, what was seen in another call, and what to do."""
    seen = [*map(_seen, given), *(f"{name}={_seen(value)}" for name, value in named.items())]
    seen.append("in train mode" if module.training else "in eval mode")
    seen.append("with gradients" if torch.is_grad_enabled() else "without gradients")
    if any(map(torch.is_autocast_enabled, ("cpu", "cuda"))):
        seen.append("under autocast")
    weights = {f"{_dtype(w)} on {w.device.type}" for w in module.state_dict().values()}
    seen += [f"with weights of {' and '.join(sorted(weights))}"] if weights else []
    made_for = " ".join(__doc__.split("\\n\\n")[1].split())  # the head of this file says it
    return f"""the kernels are not made for this call. {made_for}
  why:  {module.why_not(*given, **named)}
  seen: {', '.join(seen)}
  do:   call it so (under torch.no_grad()), or optimize for what was seen, or use
        kw.build([result]), which calls the module itself here"""


def _seen(value):
    if not isinstance(value, torch.Tensor):
        return " ".join(repr(value).split())[:100]
    layout = f"{list(value.shape)} with strides {value.stride()}"
    return f"{_dtype(value)}{layout} on {value.device.type}"


def _dtype(tensor):
    return str(tensor.dtype).removeprefix("torch.")'''


def path_text(module: nn.Module, path: str) -> str:
    """``self.layers[0].weight`` for 'layers.0.weight'."""
    text, here = "self", module
    for part in path.split("."):
        if part.isidentifier():
            text += f".{part}"
        elif part.isdigit() and hasattr(type(here), "__getitem__"):
            text += f"[{part}]"
        else:
            text = f'getattr({text}, "{part}")'
        here = getattr(here, part)
    return text


def indexed_text(path: str) -> str:
    """The same in a module that is rebuilt from its state, whose parts can all be indexed."""
    parts = (f".{p}" if p.isidentifier() else f"[{p}]" for p in path.split("."))
    return "self" + "".join(parts)


def state_rows(module: nn.Module) -> list[tuple[str, tuple[int, ...], str, bool]]:
    """(path, shape, dtype, whether it is a parameter) for everything in the state dictionary."""
    state: dict[str, Any] = module.state_dict(keep_vars=True)
    return [
        (path, tuple(value.shape), str(value.dtype), isinstance(value, nn.Parameter))
        for path, value in state.items()
    ]


def table_rows(
    module: nn.Module, paths: Iterable[str]
) -> list[tuple[str, tuple[int, ...], str, str]]:
    """(path, shape, dtype, packed numbers) for the buffers among ``paths`` that the state does not
    hold."""
    state, buffers = module.state_dict(), dict(module.named_buffers(remove_duplicate=False))
    held = {path: buffers[path] for path in paths if path in buffers and path not in state}
    return [(p, tuple(b.shape), str(b.dtype), _packed(b)) for p, b in held.items()]


def _packed(buffer: torch.Tensor) -> str:
    numbers = buffer.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return base64.b85encode(zlib.compress(numbers, 9)).decode()
