"""SASS text: listings of both tools read alike, and nothing that is unknown is passed over."""

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.lift import lift_text
from kernelwright.lift.control import MOST_COPIES, flow_of
from kernelwright.lift.cubin import Cubin
from kernelwright.lift.sass import Instruction, read_sass

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
        ("MOV R0, c[0x0][0x94]", "no row takes these operands"),
        ("BRA `(other)", "no row takes these operands"),
        ("S2R R0, SR_VIRTID", "no row takes these operands"),
    ],
)
def test_what_no_row_covers_is_reported_with_its_line_and_not_lifted(text, reason):
    program = lifted("S2R R0, SR_TID.X", text, "EXIT")
    (found,) = program.unlifted
    assert (found.line, found.reason) == (4, reason)
    assert found.advice
    assert not program.lifted


def test_a_subroutine_is_lifted_once_for_each_of_its_calls():
    """Its return leads to one place, so that no loop has several entries."""
    text = lifted(
        "MOV R0, 0x20",
        "CALL.REL.NOINC 0x60",
        "MOV R0, 0x40",
        "CALL.REL.NOINC 0x60",
        "EXIT",
        "NOP",
        "IADD3 R1, R1, 0x1, RZ",
        "RET.REL.NODEC R0 0x0",
    ).c("amd.h")
    assert text.count("const u64 b = (u64)(0x1u)") == 2
    assert "goto at_0060_0020;" in text and "goto at_0060_0040;" in text
    assert "if (R0 == 0x20) goto at_0020; TRAP();" in text


def test_a_guarded_call_that_never_returns_is_a_jump_out_of_a_loop():
    text = lifted("IADD3 R0, R0, 0x1, RZ", "@P0 CALL.REL.NOINC 0x30", "BRA 0x0", "EXIT").c("amd.h")
    assert "if (P0) { goto at_0030; }" in text
    assert "at_0000:;" in text and "goto at_0000;" in text


def test_subroutines_that_call_themselves_are_not_lifted():
    program = lifted("CALL.REL.NOINC 0x10", "CALL.REL.NOINC 0x10", "RET.REL.NODEC R0 0x0")
    assert [found.text for found in program.unlifted] == ["CALL.REL.NOINC 0x10"]


def test_a_kernel_whose_calls_need_too_many_copies_is_not_lifted():
    """Each of these subroutines calls the next one twice."""
    subroutines = []
    for k in range(1, 20):
        subroutines += [f"CALL.REL.NOINC {16 * (3 * k + 2):#x}"] * 2 + ["RET.REL.NODEC R0 0x0"]
    program = lifted("CALL.REL.NOINC 0x20", "EXIT", *subroutines, "RET.REL.NODEC R0 0x0")
    assert [found.text for found in program.unlifted] == ["CALL.REL.NOINC 0x20"]
    assert not program.lifted


def test_a_long_kernel_is_read_to_its_end():
    n = MOST_COPIES + 9
    reached = flow_of([Instruction(16 * k, k, "", "NOP", ()) for k in range(n)]).reached
    assert len(reached) == n


def test_a_call_under_a_condition_goes_on_with_the_next_instruction():
    program = lifted("CALL.REL.NOINC P0, 0x30", "MOV R2, 0x7", "EXIT", "EXIT")
    assert "R2 = " in program.c("amd.h")


@pytest.mark.parametrize("address", ["0080", "10000"])
def test_a_kernel_with_an_unreadable_line_is_not_lifted(address):
    text = CUOBJDUMP.replace("/*0080*/                   NOP;", f"/*{address}*/   ?unknown R0 ;")
    program = lift_text(text, Cubin(), name="far")
    (found,) = program.unlifted
    assert "?unknown" in found.text
    assert not program.lifted


def test_votes_are_of_the_lanes_of_the_mask_that_brought_them_together():
    program = lifted(
        "R2UR P0, URZ, R7",
        "@!P0 BRA.DIV UR4, 0x40",
        "VOTE.ANY R2, PT, P1",
        "EXIT",
        "WARPSYNC.COLLECTIVE R7, 0x70",
        "VOTE.ANY R2, PT, P1",
        "ENDCOLLECTIVE",
        "BRA 0x30",
    )
    assert not program.unlifted
    text = program.c("amd.h")
    assert "if (!P0) { goto at_0040; }" in text
    assert text.count("members = synced") == text.count("members = ~0u") == 1


def test_lanes_leave_if_both_the_guard_and_the_operand_of_exit_say_so():
    text = lifted("@!P1 EXIT P2", "MOV R0, R1", "EXIT").c("amd.h")
    assert "if (!P1) { if (P2) return; }" in text
    assert "R0 = " in text


def test_code_behind_a_trap_is_not_lifted():
    assert not lifted("BPT.TRAP 0x1", "TEX.LL R0, R2").unlifted


def test_barriers_of_the_grid_count_in_the_program_s_own_memory():
    for arch, places in (("sm_80", ("0x90", "0x8c")), ("sm_90", ("0x48", "0x44"))):
        program = lifted(*(f"MOV R2, c[0x0][{at}]" for at in places), "EXIT", arch=arch)
        assert not program.unlifted
        text = program.c("amd.h")
        assert "(u64)grid_workspace >> 0" in text and "(u64)grid_workspace >> 32" in text


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
