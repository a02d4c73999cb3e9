"""``op``: a package for pip, with the kernels as torch.library operators, and the module."""

from __future__ import annotations

from kernelwright.core.errors import UsageError
from kernelwright.shipping.shipment import Shipment, require_free_name

KERNEL = "kernel.py"
"""The file with the candidate's text."""
_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "0.1.0"
description = "{title}"
readme = "README.md"
requires-python = ">=3.11"
license = "{license}"
dependencies = [{dependencies}]

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
{name} = ["*.json"]
"""
_INIT = """\
{header}
import torch

from {name}.kernel import {entry} as {layer}

operators = torch.ops.{name}

__all__ = ["{layer}", "operators"]
"""
_README = """\
# {name}

{title}.

```python
import torch

from {name} import {layer}

module = {layer}(...)                  # the constructor of the reference, {reference}
module.load_state_dict(...)            # its weights have the reference's names
with torch.no_grad():
    y = module(...)
print(module.why_not(...) or "served by the kernel")
```

The operators stand under `torch.ops.{name}`. `receipt.json` holds the verdict with all that
repeating it needs (`kernelwright check .`), `provenance.json` how the kernel was made.
License: {license}.
"""


def files(shipment: Shipment) -> dict[str, str | bytes]:
    """The package's files by their paths.

    Raises:
        UsageError: the kernel registers no operators, or their name is taken.
    """
    name = shipment.name
    if not shipment.has_operators:
        raise UsageError(
            "this kernel cannot be a package of operators",
            seen=f"{shipment.candidate.digest} does not register its launches with torch.library",
            do="export a kernel that the rules wrote, or take --to hf",
        )
    require_free_name(name)
    needed = ["torch", *(["triton"] if shipment.candidate.dialect == "triton" else [])]
    about = f"{shipment.layer}, and its kernels as operators under ``torch.ops.{name}``."
    project = _PROJECT.format(
        distribution=name.replace("_", "-"),
        title=shipment.title.replace("\\", "/").replace('"', "'"),
        license=shipment.license,
        dependencies=", ".join(f'"{each}"' for each in needed),
        name=name,
    )
    readme = _README.format(
        name=name,
        title=shipment.title,
        layer=shipment.layer,
        reference=shipment.task.model,
        license=shipment.license,
    )
    init = _INIT.format(
        header=shipment.header(about), name=name, entry=shipment.entry, layer=shipment.layer
    )
    inside = {"__init__.py": init, KERNEL: shipment.source(name), **shipment.evidence()}
    return {
        "pyproject.toml": project,
        "README.md": readme,
        **{f"src/{name}/{path}": text for path, text in inside.items()},
    }
