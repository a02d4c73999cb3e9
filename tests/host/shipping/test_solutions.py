"""An exported solution in the hands of FlashInfer-Bench itself."""

import json

import pytest
import torch
from tests.host.shipping.conftest import emitted, receipt_of

import kernelwright as kw
from kernelwright.archive.receipt import Receipt

TABLE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(50, 32))

    def forward(self, x, index, scale):
        return torch.tanh(x + self.table[index]) * scale


def get_inputs():
    return [torch.randn(16, 32), torch.randint(0, 50, (16,)), 0.5]


def get_init_inputs():
    return []
"""


@pytest.fixture
def opened(packages):
    """The exported folder as FlashInfer-Bench reads it."""
    data = pytest.importorskip("flashinfer_bench.data")
    return data.TraceSet.from_path(packages["fib"])


def test_it_reads_definition_workload_solution_and_trace(opened, receipt):
    (definition,) = opened.definitions.values()
    (solution,), (workload,) = opened.solutions["gate"], opened.workloads["gate"]
    (trace,) = opened.traces["gate"]
    assert list(definition.inputs) == ["x", "weight"] and definition.const_axes == {
        "n64": 64,
        "n128": 128,
    }
    assert trace.solution == solution.name and trace.workload == workload.workload
    assert opened.get_best_trace("gate") is trace and trace.is_successful()
    found = trace.evaluation
    assert found.performance.latency_ms == pytest.approx(11e-6)
    assert found.performance.speedup_factor == pytest.approx(2.0)
    kept = found.correctness.extra["kernelwright_receipt"]
    assert Receipt.from_json(json.dumps(kept)) == receipt


def test_it_builds_the_solution_and_gets_the_references_results(opened):
    from flashinfer_bench.bench.utils import gen_inputs
    from flashinfer_bench.compile import BuilderRegistry

    definition, (solution,) = opened.definitions["gate"], opened.solutions["gate"]
    workload = opened.workloads["gate"][0].workload
    builders = BuilderRegistry.get_instance()
    run, reference = builders.build(definition, solution), builders.build_reference(definition)
    for _ in range(2):  # other weights than those of the first call
        inputs = gen_inputs(definition, workload, device="cpu")
        torch.testing.assert_close(run(*inputs), reference(*inputs))


def test_indices_travel_as_they_are_and_numbers_as_scalars(tmp_path):
    utils = pytest.importorskip("flashinfer_bench.bench.utils")
    from flashinfer_bench.compile import BuilderRegistry
    from flashinfer_bench.data import TraceSet

    path = tmp_path / "table.py"
    path.write_text(TABLE)
    task = kw.load(path)
    folder = kw.export(receipt_of(task, emitted(task)), to="fib", out=tmp_path / "fib")
    opened = TraceSet.from_path(folder)
    definition, (solution,) = opened.definitions["table"], opened.solutions["table"]
    workload = opened.workloads["table"][0].workload
    tensors = utils.load_safetensors(definition, workload, folder)
    assert int(tensors["index"].max()) < 50 and workload.inputs["scale"].value == 0.5
    inputs = utils.gen_inputs(definition, workload, device="cpu", safe_tensors=tensors)
    builders = BuilderRegistry.get_instance()
    made = builders.build(definition, solution)(*inputs)
    torch.testing.assert_close(made, builders.build_reference(definition)(*inputs))


def test_a_task_that_is_an_object_has_no_definition(tmp_path):
    task = kw.load(torch.nn.GELU(), inputs=["float32[16,32]"])
    with pytest.raises(kw.KernelwrightError, match="a definition is text"):
        kw.export(receipt_of(task, emitted(task)), to="fib", out=tmp_path / "fib")
    assert not (tmp_path / "fib").exists()
