import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import TaskError
from kernelwright.loaders import load, open_reference
from kernelwright.loaders.inputs import DTYPES, FLOATS, INTEGERS, expression, of_sizes
from kernelwright.loaders.shapes import at_shapes_of, listed_shapes, main_task_of

SHAPES = st.lists(st.integers(1, 5), max_size=3)


def drawn(value):
    return eval(expression(value), {"torch": torch})


@given(st.sampled_from(DTYPES), SHAPES)
def test_a_spec_draws_its_dtype_and_shape(dtype, shape):
    bound = "<7" if dtype in INTEGERS else ""
    tensor = drawn(f"{dtype}{shape}{bound}")
    assert (str(tensor.dtype), list(tensor.shape)) == (f"torch.{dtype}", shape)


@given(st.integers(1, 100))
def test_an_integer_spec_stays_below_its_bound(bound):
    tensor = drawn(f"int64[200]<{bound}")
    assert tensor.min() >= 0 and tensor.max() < bound


def test_specs_draw_from_the_requested_distribution():
    torch.manual_seed(0)
    normal, uniform = drawn("float32[20000]"), drawn("float32[20000]~uniform")
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.05
    assert 0.4 < drawn("bool[20000]").float().mean() < 0.6


@pytest.mark.parametrize(
    ("spec", "value"),
    [("3", 3), ("-0.5", -0.5), ("1e-5", 1e-5), ("true", True), ("None", None), (7, 7)],
)
def test_a_scalar_spec_is_its_value(spec, value):
    assert drawn(spec) == value and type(drawn(spec)) is type(value)


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("flot32[8]", 'did you mean "float32"'),
        ("float32[8]~unifrom", 'did you mean "uniform"'),
        ("int64[8]", "int64.8.<1000 is 0 to 999"),
        ("float32[8]<3", "only integers take a bound"),
        ("float32(8)", "write float32"),
        ("float32[8,,8]", "write float32"),
        ("(1, 2", "write float32"),
        ("(float32[2],])", "close every bracket"),
        ("[1, flot32[8]]", 'did you mean "float32"'),
        ("norm", "write float32"),
    ],
)
def test_an_invalid_spec_is_an_error_with_the_syntax(spec, advice):
    with pytest.raises(TaskError, match=advice) as caught:
        expression(spec)
    assert caught.value.seen in spec


@given(st.sampled_from(FLOATS), SHAPES, st.sampled_from([-3.0, 0.0, 50.0]), st.booleans())
@settings(max_examples=40)
def test_a_float_tensor_is_imitated(dtype, shape, offset, transposed):
    given_tensor = (torch.randn(shape) + offset).to(getattr(torch, dtype))
    if transposed:
        given_tensor = given_tensor.permute(tuple(reversed(range(len(shape)))))
    tensor = drawn(given_tensor)
    assert (tensor.dtype, tensor.shape) == (given_tensor.dtype, given_tensor.shape)
    assert tensor.stride() == given_tensor.stride() or given_tensor.is_contiguous()
    if offset == 50.0:
        assert tensor.min() > 0  # what was never negative stays so


def test_an_imitation_has_the_spread_of_its_example():
    torch.manual_seed(0)
    tensor = drawn(torch.randn(20000) * 3 - 20)
    assert tensor.mean() == pytest.approx(-20, abs=0.2)
    assert tensor.std() == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("view", [lambda t: t[:, :1].expand(6, 8), lambda t: t[:, ::2]])
def test_a_view_is_imitated_as_a_view(view):
    given_tensor = view(torch.randn(6, 8))
    assert drawn(given_tensor).stride() == given_tensor.stride()


def test_integers_and_bools_are_imitated_in_their_range():
    tensor = drawn(torch.tensor([4, 9, 5], dtype=torch.int32).repeat(100))
    assert tensor.dtype == torch.int32 and tensor.min() >= 4 and tensor.max() <= 9
    assert not drawn(torch.zeros(50, dtype=torch.bool)).any()


@pytest.mark.parametrize("value", [0.0, 1.0, -2.0])
def test_a_constant_example_does_not_give_constant_inputs(value):
    assert drawn(torch.full((100,), value)).unique().numel() > 1


def test_a_sparse_example_is_an_error():
    with pytest.raises(TaskError, match="not a dense tensor"):
        expression(torch.eye(3).to_sparse())


@pytest.mark.parametrize("value", [torch.zeros(2, dtype=torch.complex64), {1, 2}, [object()]])
def test_an_input_that_text_cannot_express_needs_a_function(value):
    with pytest.raises(TaskError, match="inputs=make_inputs"):
        expression(value)


def test_specs_and_examples_nest():
    spec = "(float32[2,3], [int64[4]<5, none], {cos: float32[2], 'n': 3}, \"gelu\", (bool[2]))"
    rows, (integers, nothing), named, text, (mask,) = drawn(spec)
    assert rows.shape == (2, 3) and integers.max() < 5 and nothing is None
    assert named["cos"].shape == (2,) and named["n"] == 3 and text == "gelu"
    assert mask.dtype == torch.bool
    rows, named = drawn(["float32[2]", {"x": (torch.ones(3), 1)}])
    assert rows.shape == (2,) and named["x"][0].shape == (3,) and named["x"][1] == 1


def test_a_range_has_sizes_to_tune_for_and_others_that_are_held_out():
    sets = of_sizes(["float32[1..64,8]", 3, "int64[1..64]<5"])
    assert sets.main == ["float32[64,8]", 3, "int64[64]<5"]
    assert [values[0] for values in sets.listed] == ["float32[8,8]", "float32[1,8]"]
    assert [values[0] for values in sets.held_out] == ["float32[33,8]", "float32[63,8]"]
    task = load("torch.nn:ReLU", inputs=["float32[2..9,4]"])
    reference = open_reference(task)
    assert reference.inputs(0)[0].shape == (9, 4)
    assert [values[0].shape[0] for values in reference.other_inputs(0)] == [4, 2, 5, 8]
    assert of_sizes(["float32[4,8]"]).main == ["float32[4,8]"]
    assert not of_sizes(["float32[4,8]"]).listed


def test_a_list_of_sizes_has_its_first_as_the_main_one():
    sets = of_sizes(["float32[64|512|8,8]"])
    assert sets.main == ["float32[64,8]"] and not sets.held_out
    assert sets.listed == [["float32[512,8]"], ["float32[8,8]"]]


def test_every_listed_shape_is_a_task_of_its_own():
    task = load("torch.nn:ReLU", inputs=["float32[2..9,4]"])
    shapes = listed_shapes(task)
    assert [shape.name for shape in shapes] == ["9x4", "4x4", "2x4", "5x4", "8x4"]
    assert [shape.is_holdout for shape in shapes] == [False] * 3 + [True] * 2
    assert shapes[0].task is task and shapes[1].task.name == "ReLU-4x4"
    assert len({shape.task.digest for shape in shapes}) == 5
    for shape in shapes[1:]:
        reference = open_reference(shape.task)
        assert [tuple(reference.inputs(0)[0].shape)] == shape.sizes
        assert not reference.other_inputs(0)
    tasks = [shape.task for shape in shapes]
    assert at_shapes_of(task, {each.digest: each for each in tasks}.get) == [
        (shape.task, shape.is_holdout) for shape in shapes[1:]
    ]
    assert all(main_task_of(each, lambda: tasks) == task for each in tasks)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["float32[4..4,8]"], "range of sizes is empty"),
        (["float32[9..4,8]"], "range of sizes is empty"),
        (["float32[0..4,8]"], "range of sizes is empty"),
        (["float32[1..4,8]", "float32[1..5,8]"], "two inputs have other sizes"),
    ],
)
def test_a_range_that_no_call_has_is_an_error(specs, said):
    with pytest.raises(TaskError, match=said):
        load("torch.nn:ReLU", inputs=specs)
