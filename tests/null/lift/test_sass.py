"""SASS text: listings of both tools read alike, and nothing that is unknown is passed over."""

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.lift import lift_text
from kernelwright.lift.cubin import Cubin
from kernelwright.lift.sass import read_sass

CUOBJDUMP = """
	code for sm_80
		Function : twice
        /*0000*/                   S2R R0, SR_TID.X ;           /* 0x0000000000067919 */
                                                                /* 0x000e280000002500 */
        /*0010*/                   ISETP.GE.AND P0, PT, R0.reuse, c[0x0][0x168], PT ;
        /*0020*/               @P0 EXIT ;
        /*0030*/                   IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        /*0040*/                   LDG.E R4, [R2.64+0x10] ;
        /*0050*/                   IMAD.SHL.U32 R4, R4, 0x2, RZ ;
        /*0060*/                   STG.E [R2.64+0x10], R4 ;
        /*0070*/                   BRA 0x70;
        /*0080*/                   NOP;
"""
NVDISASM = """
	.target	sm_80
.text.twice:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   ISETP.GE.AND P0, PT, R0.reuse, c[0x0][0x168], PT ;
        /*0020*/               @P0 EXIT ;
        /*0030*/                   IMAD.WIDE R2, R0, 0x4, c[0x0][0x160] ;
        /*0040*/                   LDG.E R4, [R2.64+0x10] ;
        /*0050*/                   IMAD.SHL.U32 R4, R4, 0x2, RZ ;
        /*0060*/                   STG.E [R2.64+0x10], R4 ;
.L_x_0:
        /*0070*/                   BRA `(.L_x_0);
        /*0080*/                   NOP;
.L_x_1:
"""


def lifted(*instructions: str, arch: str = "sm_80"):
    lines = [f"        /*{16 * k:04x}*/  {text} ;" for k, text in enumerate(instructions)]
    return lift_text("\n".join([f"code for {arch}", "Function : k", *lines]), Cubin(), name="k")


def test_listings_of_both_tools_are_read_alike():
    first, second = (read_sass(text) for text in (CUOBJDUMP, NVDISASM))
    assert first.arch == second.arch == "sm_80"
    for one, other in zip(first.kernels, second.kernels, strict=True):
        assert one.name == other.name == "twice"
        assert list(map(str, one.instructions)) == list(map(str, other.instructions))
    guarded = first.kernels[0].instructions[2]
    assert (guarded.guard, guarded.mnemonic, guarded.line) == ("P0", "EXIT", 7)


def test_a_kernel_becomes_c_with_the_lines_of_its_listing():
    program = lift_text(CUOBJDUMP, Cubin(), name="twice")
    assert not program.unlifted
    text = program.c("amd.h")
    assert "KERNEL(NAMED(twice)" in text
    assert '#line 9 "twice.sass"' in text
    assert "a * b + c" in text
    assert program.kernels[0].parameters[0].size == 16


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("IADD3.Q R0, R1, R2, R3", "no row has all of these modifiers"),
        ("BAR.ARV 0x0, 0x40", "no row has all of these modifiers"),
        ("BAR.SYNC 0x1, 0x40", "no row takes these operands"),
        ("TEX.SCR.LL RZ, R2, R4, R6, 0x0, 0x0, 2D, 0x1", "no row for TEX"),
        ("FADD R0, R1.H0_H0, R2", "no row takes these operands"),
        ("MOV R0, c[0x0][0x90]", "no row takes these operands"),
        ("BRA `(other)", "no row takes these operands"),
        ("S2R R0, SR_VIRTID", "no row takes these operands"),
        ("R2UR P1, URZ, R7", "no row takes these operands"),
    ],
)
def test_what_no_row_covers_is_reported_with_its_line_and_not_lifted(text, reason):
    program = lifted("S2R R0, SR_TID.X", text, "EXIT")
    (found,) = program.unlifted
    assert (found.line, found.reason) == (4, reason)
    assert found.advice
    assert not program.lifted


def test_a_kernel_beside_one_that_is_not_lifted_is_kept():
    text = CUOBJDUMP + "\n Function : other\n /*0000*/  TLD.LZ R0, R2 ;\n /*0010*/ EXIT ;\n"
    program = lift_text(text, Cubin(), name="two")
    assert [kernel.name for kernel in program.lifted] == ["twice"]
    assert len(program.unlifted) == 1


def test_marks_of_the_scheduler_change_nothing():
    plain = lifted("IADD3 R0, R1, R2, RZ", "EXIT").kernels[0].c
    marked = lifted("IADD3 R0, R1.reuse, R2.reuse, RZ &req={0} ?WAIT2_END_GROUP", "EXIT")
    assert marked.kernels[0].c == plain


def test_memory_descriptors_and_argument_places_of_sm_90_are_known():
    program = lifted(
        "LDC R1, c[0x0][0x28]",
        "ULDC.64 UR4, c[0x0][0x208]",
        "LDC.64 R2, c[0x0][0x210]",
        "LDG.E R4, desc[UR4][R2.64+0x8]",
        "EXIT",
        arch="sm_90",
    )
    assert not program.unlifted
    assert "ARGUMENTS + 0x0" in program.c("amd.h")


def test_text_without_instructions_is_refused():
    with pytest.raises(UsageError, match="no SASS"):
        lift_text("hello\n", Cubin(), name="x")


def test_arguments_of_an_unknown_architecture_are_not_guessed():
    newer = CUOBJDUMP.replace("sm_80", "sm_100")
    with pytest.raises(UsageError, match="where arguments begin"):
        lift_text(newer, Cubin(), name="newer")
