"""What a candidate looks at in every call before kernels get addresses: its inputs, its weights,
and torch's modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

AS_EXPECTED = '''\
def _has_form(tensor, shape, strides, dtype):
    """Whether kernels that get the tensor's address read what it holds."""
    return (
        tensor.dtype == dtype
        and tensor.shape == shape
        and tensor.stride() == strides
        and tensor.is_{device}
    )


def _as_expected(expected, *tensors):
    """Whether the kernels were made for these inputs, and neither gradients nor the other dtypes
    of autocast are wanted."""
    if torch.is_grad_enabled() or torch.is_autocast_enabled("{device}"):
        return False
    return all(
        isinstance(tensor, torch.Tensor) and _has_form(tensor, *form)
        for tensor, form in zip(tensors, expected)
    )'''
AS_MADE = '''
def _as_made(module, weights):
    """Whether the weights have the form that the kernels were made for.

    They may be replaced in many ways that a module does not notice, so each call looks; past
    nn.Module's own look-up, which takes several times as long.
    """
    try:
        for parts, name, shape, strides, dtype in weights:
            part = module
            for step in parts:
                part = part._modules[step]
            weight = part._parameters.get(name)
            if weight is None:
                weight = getattr(part, name)  # a buffer, or made by a parametrization
            if not _has_form(weight, shape, strides, dtype):
                return False
    except (AttributeError, KeyError):
        return False  # a part or a weight is gone
    return True'''


def checks_text(device_kind: str, *, weights: bool) -> str:
    """The functions that tell whether a call is one that the kernels were made for.

    ``device_kind`` is 'cpu' or 'cuda'; ``weights``: whether some are looked at.
    """
    texts = [AS_EXPECTED.format(device=device_kind), *([AS_MADE] if weights else [])]
    return "\n\n".join(texts)


def form_text(shape: Sequence[int], strides: Sequence[int], dtype: str) -> str:
    """The form of a tensor, as the tables have it; ``dtype`` is torch's name of it."""
    return f"{tuple(shape)}, {tuple(strides)}, torch.{dtype}"


def inputs_table(name: str, forms: Iterable[str]) -> str:
    """The table of the inputs for ``_as_expected``."""
    return _table(name, "shape, strides and dtype of every input", forms)


def weights_table(name: str, forms: Iterable[tuple[str, str]]) -> str:
    """The table of the weights for ``_as_made``, from (path, form)."""
    rows = []
    for path, form in forms:
        *parts, last = path.split(".")
        rows.append(f"{tuple(parts)!r}, {last!r}, {form}".replace("'", '"'))
    return _table(name, "place, name, shape, strides and dtype of every weight", rows)


def _table(name: str, about: str, rows: Iterable[str]) -> str:
    lines = "\n".join(f"    ({row})," for row in rows)
    return f"{name} = (  # {about}\n{lines}\n)"
