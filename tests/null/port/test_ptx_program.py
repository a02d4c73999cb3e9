"""Whole PTX programs as HIP text: structure, names, and what is reported."""

import pytest

pytest.importorskip("tree_sitter_cuda")
from kernelwright.hipify import State
from kernelwright.hipify.ptx.program import translate_ptx

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
SUM = (
    HEAD
    + """
// each thread adds up a row, and the block takes the largest
.visible .entry rows(.param .u64 rows_param_0, .param .u64 rows_param_1, .param .u32 rows_param_2)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<12>;
	.reg .f32 	%f<8>;
	.reg .b64 	%rd<10>;
	.shared .align 4 .b8 _ZZ4rowsPKfPfiE7largest[128];

	ld.param.u64 	%rd1, [rows_param_0];
	ld.param.u64 	%rd2, [rows_param_1];
	ld.param.u32 	%r1, [rows_param_2];
	cvta.to.global.u64 	%rd3, %rd1;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mov.u32 	%r4, %tid.x;
	mad.lo.s32 	%r5, %r2, %r3, %r4;
	mov.f32 	%f5, 0f00000000;
	setp.lt.s32 	%p1, %r1, 1;
	@%p1 bra 	$L__BB0_3;
	mul.lo.s32 	%r6, %r5, %r1;
	mov.u32 	%r10, 0;
$L__BB0_2:
	add.s32 	%r7, %r6, %r10;
	mul.wide.s32 	%rd4, %r7, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.nc.f32 	%f1, [%rd5];
	fma.rn.f32 	%f5, %f1, 0f40000000, %f5;
	add.s32 	%r10, %r10, 1;
	setp.lt.s32 	%p2, %r10, %r1;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	shl.b32 	%r8, %r4, 2;
	mov.u32 	%r9, _ZZ4rowsPKfPfiE7largest;
	add.s32 	%r11, %r9, %r8;
	st.shared.f32 	[%r11], %f5;
	bar.sync 	0;
	setp.ne.s32 	%p3, %r4, 0;
	@%p3 bra 	$L__BB0_5;
	ld.shared.f32 	%f2, [_ZZ4rowsPKfPfiE7largest];
	ld.shared.f32 	%f3, [_ZZ4rowsPKfPfiE7largest+4];
	max.f32 	%f4, %f2, %f3;
	cvta.to.global.u64 	%rd6, %rd2;
	st.global.f32 	[%rd6], %f4;
$L__BB0_5:
	ret;
}
"""
)


def body_of(text):
    return text[text.index("#pragma clang fp") :]


def kernel(body, registers="", before=""):
    return (
        f"{HEAD}{before}.visible .entry k(.param .u64 k_param_0)\n{{\n"
        ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .f32 %f<9>;\n"
        f"ld.param.u64 %rd1, [k_param_0];\n{registers}{body}\nret;\n}}\n"
    )


def test_a_program_becomes_readable_hip(snapshot):
    translated = translate_ptx(SUM, name="rows.ptx")
    assert not translated.unported
    assert body_of(translated.text) == snapshot


def test_an_instruction_without_a_row_is_reported_with_its_line_and_advice():
    text = kernel("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];")
    (found,) = translate_ptx(text, name="k.ptx").unported
    assert (found.line, found.state, found.file) == (8, State.UNPORTED, "k.ptx")
    assert found.construct.startswith("tex.2d.v4.f32.f32")
    assert "textures" in found.advice


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        ("add.rn.satfinite.f32 %f1, %f2, %f3;", "no row has all of these modifiers"),
        ("bar.sync 1;", "no row takes these operands"),
        ("isspacep.global %p1, %rd1;", "no row has all of these modifiers"),
        ("brkpt;", "no row for brkpt"),
        ("shl.b32 %r1, %rd1, 3;", ""),
        ("mov.u32 %r1, %nothing;", "%nothing is not known"),
        ("call (%r1), somewhere, (%r2);", "somewhere is defined elsewhere"),
        ("ld.shared.u32 %r1, [k_param_0];", "no row takes these operands"),
        ("bra NOWHERE;", "its label is not in this function"),
        ("@%p1 bra NOWHERE;", "its label is not in this function"),
        ("brx.idx %r1, NOWHERE;", "its label is not in this function"),
        ("T: .branchtargets NOWHERE;\nbrx.idx %r1, T;", "its label is not in this function"),
        (
            "T: .branchtargets A;\n@%p1 brx.idx %r1, T;\nA:",
            "a jump to one of several labels has a guard",
        ),
        ("A:\n@%q bra A;", "%q is no predicate"),
        ("@%r1 st.global.u32 [%rd1], %r2;", "%r1 is no predicate"),
    ],
)
def test_a_modifier_or_operand_that_no_row_has_is_never_passed_over(instruction, reason):
    text = translate_ptx(kernel(instruction))
    if reason:
        assert [found.reason for found in text.unported] == [reason]
    else:
        assert "(u32)" in text.text  # a wider register is read by its lower half


def test_loops_with_two_entries_are_written_with_labels():
    text = translate_ptx(
        kernel(
            "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra B;\nA:\nadd.s32 %r2, %r2, 1;\nB:\n"
            "add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 9;\n@%p2 bra A;"
        )
    )
    assert not text.unported
    assert "goto block_" in text.text


def test_labels_of_inline_assembly_stay_in_their_brackets():
    one = (
        "{\n.reg .pred P1;\nWAIT:\nsetp.ne.u32 P1, %r1, 0;\n@P1 bra DONE;\nbra.uni WAIT;\n"
        "DONE:\n}\n"
    )
    text = translate_ptx(kernel(one + one))
    assert not text.unported
    assert text.text.count("do {") + text.text.count("for (;;)") == 2


def test_what_follows_a_loop_stands_behind_it():
    """Threads that leave a loop at different turns meet behind it, before they shuffle."""
    lines = body_of(translate_ptx(SUM).text).splitlines()
    ends = next(k for k, line in enumerate(lines) if "} while" in line)
    assert "__syncthreads" in "\n".join(lines[ends:])
    assert "goto" not in "\n".join(lines)


def test_a_register_that_is_written_twice_keeps_its_own_variable():
    text = body_of(translate_ptx(kernel(
        "mov.u32 %r1, 1;\nadd.s32 %r2, %r1, 5;\nmov.u32 %r1, 2;\nst.global.u32 [%rd1], %r2;\n"
        "st.global.u32 [%rd1+4], %r1;"
    )).text)  # fmt: skip
    assert "r2 = r1 + 5u;" in text
    assert text.index("r2 = r1 + 5u;") < text.index("r1 = 2u;")


def test_a_comparison_writes_both_of_its_predicates_where_it_stands():
    text = body_of(translate_ptx(kernel(
        "setp.lt.s32 %p1|%p2, %r1, %r2;\n@%p2 st.global.u32 [%rd1], %r1;\n"
        "@%p1 st.global.u32 [%rd1], %r2;"
    )).text)  # fmt: skip
    assert text.index("ptx_both(") < text.index("if (p2)") < text.index("if (p1)")


def test_a_value_of_the_turn_before_is_read_before_it_is_replaced():
    text = body_of(translate_ptx(kernel(
        "mov.u32 %r5, 0;\nL:\nadd.s32 %r2, %r1, 7;\nld.global.u32 %r1, [%rd1];\n"
        "st.global.u32 [%rd1+4], %r2;\nadd.s32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 9;\n@%p1 bra L;"
    )).text)  # fmt: skip
    assert text.index("r2 = r1 + 7u;") < text.index("r1 = *")


def test_a_register_does_not_hide_a_variable_of_its_name():
    text = body_of(translate_ptx(kernel(
        "add.s32 %r1, %r2, %r3;\nst.global.u32 [r1], %r1;",
        before=".visible .global .align 4 .u32 r1;\n",
    )).text)  # fmt: skip
    assert "(char*)&r1) = r1_1;" in text


def test_registers_of_inline_assembly_are_other_than_the_compilers():
    text = body_of(translate_ptx(kernel(
        "{\n.reg .b32 r1;\nadd.s32 r1, %r1, 1;\nst.global.u32 [%rd1], r1;\n"
        "st.global.u32 [%rd1+4], r1;\n}\nst.global.u32 [%rd1], %r1;"
    )).text)  # fmt: skip
    assert "r1_1 = r1 + 1u;" in text


def test_shared_variables_of_several_inlined_functions_keep_names_of_their_own():
    names = ("_ZZ3sumfE6shared", "_ZZ3maxfE6shared", "_ZZ3maxfE6shared_0")
    before = "".join(f".shared .align 4 .b8 {name}[128];\n" for name in names)
    body = "\n".join(f"st.shared.u32 [{name}], %r1;" for name in names)
    text = body_of(translate_ptx(kernel(body, before=before)).text)
    assert all(f"__shared__ u32 {name}[32];" in text for name in names)


def test_a_jump_at_the_end_of_a_function_may_fall_through():
    head, _, _ = kernel(
        "L:\nld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;"
    ).rpartition("ret;")
    text = translate_ptx(head + "}\n")
    assert not text.unported
    assert "while (r1 == 0u);" in text.text


def test_a_function_without_its_end_is_reported():
    whole = kernel("add.s32 %r1, %r2, 1;")
    (found,) = translate_ptx(whole[: whole.rindex("}")]).unported
    assert found.construct == "k: no end of it"


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        (".u32 v[2] = {010, 2}", "u32 v[2] = {8u, 2u};"),
        (".u64 v = generic(d)", "v[1] = {(const void*)((char*)&d)};"),
        (".u64 v[3] = {d+4, 0}", "v[3] = {(const void*)(((char*)&d) + 4), (const void*)0};"),
    ],
)
def test_initial_values_are_numbers_and_addresses(declared, written):
    size = 4 if ".u32" in declared else 8
    before = f".global .align 4 .u32 d[2];\n.global .align {size} {declared};\n"
    text = translate_ptx(kernel("", before=before))
    assert not text.unported
    assert written in text.text


@pytest.mark.parametrize("value", ["0xFF(d)", "elsewhere", "generic(elsewhere)+8", "d+x"])
def test_an_initial_value_that_cannot_be_written_is_reported(value):
    before = f".global .align 4 .u32 d[2];\n.global .align 8 .u64 v[2] = {{{value}, 1}};\n"
    (found,) = translate_ptx(kernel("", before=before)).unported
    assert (found.line, found.construct) == (5, "v = …")


def test_a_vector_is_read_from_a_variable_of_any_name():
    before = ".visible .global .align 16 .b8 v[16];\n"
    text = body_of(translate_ptx(kernel("ld.global.v2.u32 {%r1, %r2}, [v];", before=before)).text)
    assert "const uint2 ptx_read = *(const uint2*)((char*)&v);" in text
