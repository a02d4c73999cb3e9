"""How generated code reaches a module's parameters, and holds them where there is no source."""

from __future__ import annotations

from typing import Any

from torch import nn

REBUILT = '''\
class Part(nn.Module):
    """A place for parameters under the names that the state has."""

    def __getitem__(self, position):
        return getattr(self, str(position))


def _place(module, path, shape, dtype, is_parameter):
    """Make the parameter or buffer ``path``, and the parts on the way to it."""
    *parts, name = path.split(".")
    for part in parts:
        if part not in module._modules:
            module.add_module(part, Part())
        module = module._modules[part]
    value = torch.zeros(shape, dtype=dtype)
    if is_parameter:
        module.register_parameter(name, nn.Parameter(value))
    else:
        module.register_buffer(name, value)'''


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
