"""A kernel is a candidate's own by a name that its text holds and no library has."""

import pytest

from kernelwright.judge.kinds import kernel_names
from kernelwright.judge.kinds.kernel_names import function_of, is_own

SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>"
    "(float*, float const*, int, int, int, bool const*, int, bool)"
)
TRITON = "@triton.jit\ndef fused_softmax(x, y, n): ...\nfused_softmax[(n,)](x, y, n)"
CPP = "template <int N> __global__ void scale(float* x) {}"


@pytest.mark.parametrize(
    ("name", "function"),
    [
        (SOFTMAX, "softmax_warp_forward"),
        ("void scale<128>(float*)", "scale"),
        ("scale(float*)", "scale"),
        ("fused_softmax", "fused_softmax"),
        ("void mine::(anonymous namespace)::scale<float>(float*)", "scale"),
    ],
)
def test_the_function_of_a_name(name, function):
    assert function_of(name) == function


def test_own_kernels_are_found_in_the_text():
    assert is_own("fused_softmax", TRITON)
    assert is_own("void scale<128>(float*)", CPP)


def test_a_librarys_kernel_that_nobody_listed_is_not_own():
    assert not is_own(SOFTMAX, TRITON)
    assert not is_own("LSTM_elementWise_fp", TRITON)


def test_speaking_of_a_librarys_kernel_does_not_make_it_own(monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    mangled = b"\0_ZN43_GLOBAL__N__20softmax_warp_forwardIfffLi10ELb0ELb0EEvPT0_\0"
    (tmp_path / "lib" / "libtorch_cuda.so").write_bytes(mangled)
    monkeypatch.setattr(kernel_names.torch, "__file__", str(tmp_path / "__init__.py"))
    kernel_names.is_of_torch.cache_clear()
    assert not is_own(SOFTMAX, "def softmax_warp_forward(): ...")
    assert is_own("void scale<128>(float*)", CPP)
    kernel_names.is_of_torch.cache_clear()


@pytest.mark.parametrize(
    "name", ["triton_", "triton_3", "void gemv2T_kernel_val<int, float>(float*)"]
)
def test_a_librarys_kernels_that_a_text_names_are_not_its_own(name):
    assert not is_own(name, f"{name} triton_ triton_3 gemv2T_kernel_val")
