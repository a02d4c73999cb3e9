"""The entries of PTX's tables as the tests of their rows take them."""

import itertools
import math
import re

import pytest

from kernelwright.dialects.simt import machine

MARKS = [
    pytest.mark.skipif(
        machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
    ),
    pytest.mark.slow,
    pytest.mark.timeout(900),  # clang compiles a thousand kernels
]
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
N_KEYS = 14


def keys_of(entry):
    """Keys of an entry's sets: all of each, in combinations of which there may be too many."""
    names = list(dict.fromkeys(re.findall(r"<([\w-]+)>", entry.ptx)))
    listed = [list(entry.sets[name]) for name in names]
    n_all = math.prod(map(len, listed))
    if n_all <= 3 * N_KEYS:
        return [dict(zip(names, keys, strict=True)) for keys in itertools.product(*listed)]
    most = max(map(len, listed))
    return [
        {name: keys[k % len(keys)] for name, keys in zip(names, listed, strict=True)}
        for k in range(most)
    ]


def opcode(entry, keys, is_full):
    """The instruction of an entry with these keys; ``is_full``: with what may be left out."""
    text = re.sub(r"\[([^\[\]]*)\]", r"\1" if is_full else "", entry.ptx)
    return re.sub(r"<([\w-]+)>", lambda found: keys[found[1]], text)
