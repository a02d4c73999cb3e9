"""What a reference puts into lists and dictionaries that it is given is a result."""

import pytest
import torch

from kernelwright.core.task import Task
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.entries import fresh_containers, new_entries, with_entries
from kernelwright.judge.sandbox.layout import leaves

TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, given):
        {}

def get_inputs():
    return [torch.randn(8), {}]

def get_init_inputs():
    return []
"""
LIST, DICT = "[torch.randn(8), torch.randn(8)]", '{"a": torch.randn(8)}'


@pytest.mark.parametrize(
    ("forward", "given", "entries"),
    [
        ("given['a'] = x + given['a']; return x * 2", DICT, ((1, "a"),)),
        ("given['b'] = (x + given['a'], x); return x * 2", DICT, ((1, "b", 0),)),
        ("given.append(x * 2); return given[0] * x", LIST, ((1, 2),)),
        ("given[0] = x.tanh(); return x, given", LIST, ((1, 0),)),
        ("return x * given.pop('a')", DICT, ()),
        ("given.reverse(); return x * given[0]", LIST, ()),
        ("given[0].mul_(2); return x * given[0]", LIST, ()),
    ],
)
def test_tensors_put_into_a_list_are_results_and_every_call_has_its_own_list(
    forward, given, entries
):
    oracle = Oracle(Task("puts", "test", TASK.format(forward, given)), "cpu", 1)
    assert oracle.profile.results.entries == entries
    arguments = oracle.first_arguments
    before = [t.clone() for t in leaves(arguments)]
    first, second = oracle.forward.run(arguments), oracle.forward.run(arguments)
    assert len(first) == len(oracle.example) + sum(oracle.profile.results.changed)
    assert all(map(torch.equal, first, second))
    assert all(map(torch.equal, leaves(arguments), before))


def test_where_nothing_was_put_nothing_is_found():
    held = [torch.zeros(1), {"a": torch.ones(1)}]
    given = fresh_containers(held)
    given[1]["b"] = [torch.ones(1)]
    assert new_entries(given, leaves(held)) == ((1, "b", 0),) and list(held[1]) == ["a"]
    assert with_entries(given[0], given, ()) is given[0]
    for path in ((1, "c"), (1, "b", 7), (0, 0, 0), (1, "b", "a")):
        assert with_entries(given[0], given, (path,)) == (given[0], None)
