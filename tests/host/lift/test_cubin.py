"""Variables of a cubin: their names, and first values that only a loader knows."""

import pytest

from kernelwright.dialects.nvidia import assemble_ptx, tool
from kernelwright.lift import lift
from kernelwright.lift.build import assemble, build_missing
from kernelwright.lift.program import disassembly_missing

pytestmark = pytest.mark.skipif(
    tool("ptxas") is None or disassembly_missing() is not None, reason="no ptxas and cuobjdump"
)
PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .b8 a[400];
.visible .global .align 4 .b8 synced[32];
.visible .global .align 8 .u64 place = a;
.visible .entry direct(.param .u64 out) {
  .reg .b64 %l<4>; .reg .b32 %r<3>;
  ld.param.u64 %l0, [out]; mov.u64 %l1, a; ld.global.u32 %r1, [%l1+20];
  mov.u64 %l2, synced; st.global.u32 [%l2+8], %r1; st.global.u32 [%l0], %r1; ret;
}
.visible .entry indirect(.param .u64 out) {
  .reg .b64 %l<4>; .reg .b32 %r<3>;
  ld.param.u64 %l0, [out]; ld.global.u64 %l1, [place]; ld.global.u32 %r1, [%l1+20];
  st.global.u32 [%l0], %r1; ret;
}
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "k.ptx").write_text(PTX)
    assemble_ptx(tmp_path / "k.ptx", tmp_path / "k.cubin")
    return lift(tmp_path / "k.cubin")


def test_a_variable_may_have_the_name_of_an_operand_or_of_a_register(program):
    (kernel,) = (k for k in program.kernels if k.name == "direct")
    assert not kernel.unlifted
    assert "(u64)variable_a" in kernel.c and "(u64)variable_synced" in kernel.c
    assert "(u64)a" not in kernel.c and "u32 synced = 0" not in kernel.c


@pytest.mark.skipif(build_missing() is not None, reason=str(build_missing()))
def test_a_variable_keeps_its_own_name_for_the_host(program, tmp_path):
    assembly = assemble(program, "gfx1100", tmp_path).assembly
    assert "\n\t.globl\ta\n" in assembly and "\nsynced:\n" in assembly


def test_a_kernel_that_reads_an_address_from_a_variable_s_first_value_is_not_lifted(program):
    (kernel,) = (k for k in program.kernels if k.name == "indirect")
    assert kernel.unlifted and not kernel.c
