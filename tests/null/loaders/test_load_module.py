import dataclasses
import functools
import importlib
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn

from kernelwright.core.errors import TaskError
from kernelwright.loaders import check, load, open_reference

FILE = """
import dataclasses

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width, depth=2, *, bias=True):
        super().__init__()
        self.arguments = (width, depth, bias)
        self.linear = nn.Linear(width, width, bias=bias)

    def forward(self, x, n):
        return self.linear(x) * n


def doubled(x, y, power=2):
    return (x + y) ** power


class Scaled(nn.Module):
    def forward(self, x, pair=None, power=2, *, scale=1.0, **others):
        return (x * pair[0]) ** power * scale + others.get("shift", 0.0)


@dataclasses.dataclass
class Config:
    width: int = 4
    sizes: tuple = ()


class Configured(nn.Module):
    def __init__(self, config, layer=0):
        super().__init__()
        self.arguments = (config.width, config.sizes, layer)
        self.linear = nn.Linear(config.width, 4)

    def forward(self, x):
        return self.linear(x)


class Plain:
    pass
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "layers_of_mine.py"
    path.write_text(FILE)
    return path


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 4)

    def forward(self, x):
        return self.linear(x)


def make_inputs():
    return [torch.rand(3, 8) + 5.0]


def test_a_class_in_a_file_keeps_the_file_s_text(file):
    task = load(f"{file}:Gate", inputs=["float32[3,8]", "2"], init=[8])
    assert task.source.startswith(FILE.rstrip())
    assert (task.entry, task.name) == ("Gate", "Gate")
    assert check(task).shapes == (("float32", (3, 8)), ("int", ()))


@pytest.mark.parametrize(
    ("init", "kwargs", "arguments"),
    [
        ([8], None, (8, 2, True)),
        ([8, 3], None, (8, 3, True)),
        ({"width": 8, "depth": 5}, None, (8, 5, True)),
        ([8], {"bias": False}, (8, 2, False)),
        ({"width": 8, "bias": False}, None, (8, 2, False)),
    ],
)
def test_constructor_arguments_by_position_and_by_name(file, init, kwargs, arguments):
    task = load(f"{file}:Gate", inputs=["float32[3,8]", "2"], init=init, kwargs=kwargs)
    assert open_reference(task).build(0).arguments == arguments


def test_a_class_in_a_package_is_imported_by_name():
    task = load("torch.nn:Softmax", inputs=["float32[3,8]"], init={"dim": 1})
    assert "from torch.nn import Softmax" in task.source
    assert torch.allclose(open_reference(task).build(0)(torch.zeros(1, 4)), torch.tensor(0.25))


def test_an_importable_class_is_its_name():
    assert load(nn.Softmax, inputs=["float32[3,8]"], init=[1]).name == "Softmax"


def test_a_function_in_a_file_becomes_a_module(file):
    task = load(f"{file}:doubled", inputs=["float32[3,8]", "float32[8]"])
    module = open_reference(task).build(0)
    assert torch.equal(module(torch.ones(2), torch.ones(2)), torch.full((2,), 4.0))


def test_an_instance_keeps_its_weights_whatever_the_seed():
    net = Net(8).eval()
    task = load(net, inputs=[torch.randn(3, 8)])
    reference = open_reference(task)
    first, second = reference.build(1), reference.build(2)
    assert reference.has_fixed_weights and not first.training
    assert torch.equal(first.linear.weight, net.linear.weight)
    first.linear.weight.data.zero_()
    assert torch.equal(second.linear.weight, net.linear.weight)
    assert not torch.equal(reference.inputs(1)[0], reference.inputs(2)[0])


def test_a_function_is_pickled_with_its_closure():
    offset = torch.arange(8.0)
    task = load(lambda x: x + offset, inputs=torch.randn(3, 8))
    assert torch.equal(open_reference(task).build(0)(torch.zeros(8)), offset)


def test_a_partial_and_a_builtin_are_functions():
    clamp = functools.partial(torch.clamp, min=0.0)
    for function in (clamp, torch.relu):
        module = open_reference(load(function, inputs=["float32[4]"])).build(0)
        assert torch.equal(module(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))


def test_inputs_from_a_callable_are_drawn_anew():
    reference = open_reference(load(Net(8), inputs=make_inputs))
    one, two = reference.inputs(1)[0], reference.inputs(2)[0]
    assert one.min() >= 5.0 and not torch.equal(one, two)


def test_another_process_can_open_the_task(file, tmp_path):
    import cloudpickle

    path = tmp_path / "task.pickle"
    path.write_bytes(
        cloudpickle.dumps(load(f"{file}:Gate", inputs=["float32[3,8]", "2"], init=[8]))
    )
    code = (
        "import pickle, sys; from kernelwright.loaders import check; "
        "print(check(pickle.load(open(sys.argv[1], 'rb'))).shapes[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd="/", check=True
    )
    assert done.stdout.strip() == "('float32', (3, 8))"


@pytest.mark.parametrize("is_imported", [True, False])
def test_a_module_from_the_users_file_opens_without_the_file(
    file, tmp_path, monkeypatch, is_imported
):
    """The judge's processes see none of the user's folders, and not the text of another task, as a
    model in a file is one whose layers are searched."""
    import cloudpickle

    monkeypatch.syspath_prepend(tmp_path)
    if is_imported:
        gate = importlib.import_module(file.stem).Gate(8)
    else:
        model = load(f"{file}:Gate", inputs=["float32[3,8]", "2"], init=[8])
        gate = open_reference(model).build(0)
    path = tmp_path / "task.pickle"
    task = load(nn.Sequential(gate, nn.Flatten()), inputs=["float32[3,8]"])
    path.write_bytes(cloudpickle.dumps(dataclasses.replace(task, import_roots=())))
    assert type(gate).__module__ not in cloudpickle.cloudpickle.list_registry_pickle_by_value()
    code = (
        "import pickle, sys; from kernelwright.loaders import open_reference; "
        "print(len(open_reference(pickle.load(open(sys.argv[1], 'rb'))).build(0)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd="/", check=True
    )
    assert done.stdout.strip() == "2"


SCRIPT = """
import pickle, sys, torch
import kernelwright as kw

class Block(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

task = kw.load(torch.nn.Sequential(Block()), inputs=["float32[4]"])
pickle.dump(task, open(sys.argv[1], "wb"))
"""
COMPILED = """
import pickle, sys, torch
from kernelwright.loaders import open_reference

task = pickle.load(open(sys.argv[1], "rb"))
del torch  # of this process's main module: what the script imported is another
import torch as library
module = library.compile(open_reference(task).build(0), backend="eager", fullgraph=True)
print(module(-library.ones(4)).sum().item())
"""


IDENTITY = """
import torch
import kernelwright as kw

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x))

torch.manual_seed(0)
for module in (Block(), torch.nn.Sequential(Block(), torch.nn.Linear(4, 4))):
    print(kw.load(module, inputs=["float32[2,4]"]).digest)
"""


def test_an_object_is_the_same_task_in_another_run(tmp_path):
    """Otherwise a search would not resume, and archived verdicts would not be found."""
    (tmp_path / "script.py").write_text(IDENTITY)
    command = [sys.executable, str(tmp_path / "script.py")]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout and len(set(runs[0].stdout.split())) == 2


def test_a_class_defined_in_a_script_compiles_in_another_process(tmp_path):
    """Otherwise the strongest library setting would be missing, and speedups would be too high."""
    path = tmp_path / "task.pickle"
    for code in (SCRIPT, COMPILED):
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0.0"


def error(target, match, **arguments):
    with pytest.raises(TaskError, match=match) as caught:
        load(target, **arguments)
    assert caught.value.do


def test_errors_of_a_named_class(file):
    specs = ["float32[3,8]", "2"]
    error(f"{file}:Gat", 'did you mean "Gate"', inputs=specs)
    error(f"{file}:Plain", "neither an nn.Module class nor a function", inputs=specs)
    error(f"{file}:Gate", "Gate has no inputs", init=[8])
    error(f"{file}:Gate", r"do not fit Gate\(width, depth=2", inputs=specs)
    error(f"{file}:Gate", "do not fit Gate", inputs=specs, init=[8], kwargs={"depht": 1})
    error(f"{file}:Gate", "a list or a mapping", inputs=specs, init=8)
    error(f"{file}:Gate", "not understood", inputs=specs, init="[8")
    error(f"{file}:Gate", "cannot be pickled", inputs=specs, init=[threading.Lock()])
    error(f"{file}:Gate", "the inputs do not fit Gate", inputs={"y": 1}, init=[8])
    error(f"{file.parent / 'nothing.py'}:Gate", "no such file", inputs=specs)
    error("no_such_package.part:Gate", "no_such_package.part does not import", inputs=specs)
    with pytest.raises(TaskError, match="check its name"):  # the package itself is there
        load("torch.nnn:Linear", inputs=specs)
    error("torch.nn:Softmx", 'did you mean "Softmax"', inputs=specs)


def test_errors_of_an_object():
    class Local(Net):
        pass

    error(Net(8), "Net has no inputs")
    error(Net(8), "existing object", inputs=["float32[3,8]"], init=[8])
    error(Local, "give an instance", inputs=["float32[3,8]"], init=[8])
    lock = threading.Lock()
    error(lambda x: lock and x, "cannot be pickled", inputs=["float32[3,8]"])


def test_inputs_that_do_not_fit_are_one_error(file):
    task = load(f"{file}:Gate", inputs=["float32[3,9]", "2"], init=[8])
    with pytest.raises(TaskError, match=r"(?s)do not fit the forward.*float32\[3, 9\], int\[\]"):
        check(task)


def test_the_error_about_a_missing_class_lists_the_others_once():
    with pytest.raises(TaskError, match='no class "Nope"') as caught:
        load("torch.nn:Nope")
    assert str(caught.value).count("AdaptiveAvgPool1d") == 1


def test_inputs_by_name_are_in_the_order_of_the_forward(file):
    named = {"scale": "2.0", "pair": ("3.0", "float32[8]"), "x": torch.ones(8), "shift": 1.0}
    for inputs in (named, [torch.ones(8), "pair=(3.0, float32[8])", "scale=2.0", "shift=1.0"]):
        reference = open_reference(load(f"{file}:Scaled", inputs=inputs))
        _, pair, power, scale, shift = reference.inputs(0)
        assert (pair[0], power, scale, shift) == (3.0, 2, 2.0, 1.0)
        module = reference.build(0)
        wanted = torch.full((8,), 19.0)
        assert torch.equal(module(torch.ones(8), pair, power, scale, shift), wanted)
        assert torch.equal(module(torch.ones(8), pair, scale=2.0, shift=1.0), wanted)
        assert torch.equal(module(torch.ones(8), pair=pair), wanted / 2 - 0.5)
    reference = open_reference(load(f"{file}:Scaled", inputs={"x": "1.0", "pair": ["2.0"]}))
    assert reference.inputs(0) == [1.0, [2.0]]


def test_the_constructor_takes_objects_by_their_dotted_names(file, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = file.rename(tmp_path / "configured_layers.py")
    text = f"{file.stem}.Config(8, sizes=(1, 2)), layer=3"
    for target in (f"{file.stem}:Configured", f"{file.stem}.Configured"):
        task = load(target, inputs=["float32[2,8]"], init=text)
        assert open_reference(task).build(0).arguments == (8, (1, 2), 3)
        assert task.name == "Configured"
    module = importlib.import_module(file.stem)
    for init in ([module.Config(8)], {"config": module.Config(8)}):
        task = load(module.Configured, inputs=["float32[2,8]"], init=init)
        assert open_reference(task).build(0).arguments == (8, (), 0)
    error(f"{file}:Configured", "Nope", inputs=["float32[2,8]"], init=f"{file.stem}.Nope()")
    error(f"{file}:Configured", "no literal", inputs=["float32[2,8]"], init="[n for n in 3]")
