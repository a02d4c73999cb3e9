"""A kernel is a candidate's own by a name that its text holds and no library has."""

import pytest

from kernelwright.judge.kinds import kernel_names
from kernelwright.judge.kinds.kernel_names import ANONYMOUS, is_own, path_of

SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>"
    "(float*, float const*, int, int, int, bool const*, int, bool)"
)
TRITON = "@triton.jit\ndef fused_softmax(x, y, n): ...\nfused_softmax[(n,)](x, y, n)"
CPP = "template <int N> __global__ void scale(float* x) {}"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (SOFTMAX, (ANONYMOUS, "softmax_warp_forward")),
        ("void scale<128>(float*)", ("scale",)),
        ("scale(float*)", ("scale",)),
        ("fused_softmax", ("fused_softmax",)),
        ("void mine::(anonymous namespace)::scale<float>(float*)", ("mine", ANONYMOUS, "scale")),
    ],
)
def test_namespaces_and_function_of_a_name(name, path):
    assert path_of(name) == path


def test_own_kernels_are_found_in_the_text():
    assert is_own("fused_softmax", TRITON)
    assert is_own("void scale<128>(float*)", CPP)


def test_a_librarys_kernel_that_nobody_listed_is_not_own():
    assert not is_own(SOFTMAX, TRITON)
    assert not is_own("LSTM_elementWise_fp", TRITON)


@pytest.fixture
def torchs(monkeypatch, tmp_path):
    """What torch's library holds, written to it."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(kernel_names.torch, "__file__", str(tmp_path / "__init__.py"))
    kernel_names.is_of_torch.cache_clear()
    yield (tmp_path / "lib" / "libtorch_cuda.so").write_bytes
    kernel_names.is_of_torch.cache_clear()


def test_speaking_of_a_librarys_kernel_does_not_make_it_own(torchs):
    torchs(b"\0_ZN43_GLOBAL__N__1f_10_SoftMax_cu20softmax_warp_forwardIfffLi10ELb0EEvPT0_\0")
    assert not is_own(SOFTMAX, "def softmax_warp_forward(): ...")
    assert is_own("void scale<128>(float*)", CPP)


def test_a_function_of_the_same_name_in_another_namespace_is_nobodys_kernel(torchs):
    torchs(b"\0_ZN2at6native4poolERKNS_6TensorE\0_ZN2at6linearERKNS_6TensorE\0")
    assert is_own("pool(float const*, float*, int)", "__global__ void pool(")
    assert is_own("void mine::linear<8>(float*)", "namespace mine { __global__ void linear(")
    torchs(b"\0_Z4poolPKfPfi\0")
    kernel_names.is_of_torch.cache_clear()
    assert not is_own("pool(float const*, float*, int)", "__global__ void pool(")


@pytest.mark.parametrize(
    "name",
    [
        "flash",
        "flash_attention_kernel",
        "gemm_kernel",
        "void conv2d<8>(float*)",
        "void gemm_kernel<float, 64>(float const*, float const*, float*)",
    ],
)
def test_a_kernel_may_be_called_what_it_does(torchs, name):
    torchs(b"\0")
    assert is_own(name, f"def {name.partition('(')[0]} void {name}")


@pytest.mark.parametrize(
    "name",
    [
        "triton_",
        "triton_3",
        "void gemv2T_kernel_val<int, float>(float*)",
        "void dot_kernel<float, 128, 0, cublasDotParams<float> >(cublasDotParams<float>)",
    ],
)
def test_a_librarys_kernels_that_a_text_names_are_not_its_own(name):
    assert not is_own(name, f"{name} triton_ triton_3 gemv2T_kernel_val dot_kernel")
