"""``kernelwright port`` of machine code: assembly, its report, and twins that compute alike."""

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("tree_sitter_cuda")
from pathlib import Path

from kernelwright.bench.port_bench.program import programs
from kernelwright.cli import main
from kernelwright.dialects.simt import machine
from kernelwright.isa import isa_missing, listing_of
from kernelwright.isa.host import environment, executed
from kernelwright.lift import lift
from kernelwright.lift.build import assemble, build_missing
from kernelwright.port.lifted import called_of, host_of_instructions, host_with_twin

SASS = Path(__file__).parent / "sass"
"""Listings of programs of the port bench, built for sm_80 or sm_90, without their encodings."""
needs_clang = pytest.mark.skipif(build_missing() is not None, reason=str(build_missing()))
needs_twin = pytest.mark.skipif(
    machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
)


@needs_clang
@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
def test_machine_code_becomes_amd_assembly_with_a_report(tmp_path, target):
    source, out = SASS / "vector_add.sass", tmp_path / "out"
    words = ["port", str(source), "--to", target, "--out", str(out), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    report = json.loads((out / "port.json").read_text())
    assert report["to"] == target and report["done"]
    text = (out / "vector_add.s").read_text()
    assert f"amdgcn-amd-amdhsa--{target}" in text
    assert "v_add_f32" in text and ".amdhsa_kernel _Z3addPKfS0_Pfi" in text
    assert (out / "vector_add.co").read_bytes().startswith(b"\x7fELF")
    assert "_Z3addPKfS0_Pfi_arguments" in (out / "vector_add.hpp").read_text()


@needs_clang
def test_an_instruction_without_a_row_fails_lint_and_names_its_line(tmp_path):
    source = tmp_path / "odd.sass"
    source.write_text("Function : k\n /*0000*/ TEX.LL R0, R2 ;\n /*0010*/ EXIT ;\n")
    words = ["port", str(source), "--to", "gfx1100", "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    (found,) = json.loads((tmp_path / "out/port.json").read_text())["files"][0]["findings"]
    assert (found["line"], found["state"]) == (2, "unported")
    assert "textures" in found["advice"]
    assert not (tmp_path / "out/odd.s").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x.cu", "--to", "gfx1100"], "only machine code"),
        (["x.sass", "--to", "gfx942", "--rungs", "0,4"], "no rung 4"),
        (["x.sass", "--to", "hip", "--host", "x.cu"], "--host goes with PTX and AMD targets"),
        (["x.sass", "--to", "gfx942", "--model", "m"], "--model goes with HIP and CUDA sources"),
    ],
)
def test_wrong_uses_are_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("x.cu", "x.sass"):
        Path(name).write_text("")
    done = CliRunner().invoke(main, ["port", *words])
    assert done.exit_code == 2
    assert message in done.output


@needs_twin
@pytest.mark.parametrize("name", ["reduce_volatile_tail", "crypto_xtea"])
def test_a_twin_prints_what_the_program_prints(tmp_path, name):
    """The first relies on lanes in step between barriers, the second is integer arithmetic."""
    (program,) = (p for p in programs() if p.name == name)
    lifted = lift(SASS / f"{name}.sass")
    assert not lifted.unlifted
    run = machine.run(host_with_twin(lifted, program.source, tmp_path))
    assert run.output.strip() == program.expected
    assert set(called_of(run.errors)) == {kernel.name for kernel in lifted.kernels}


@needs_clang
@pytest.mark.skipif(isa_missing() is not None, reason=str(isa_missing()))
@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("name", ["linalg_givens_least_squares", "groups_ranks_of_tiles"])
def test_lifted_programs_print_the_same_as_amd_instructions(tmp_path, name, target):
    """The first calls subroutines from several places of a loop, which once did not end; the second
    votes in tiles of 16 lanes."""
    (program,) = (p for p in programs() if p.name == name)
    lifted = lift(SASS / f"{name}.sass")
    assert not lifted.unlifted
    listing = listing_of(assemble(lifted, target, tmp_path).code_object, tmp_path)
    built = host_of_instructions(program.source, tmp_path)
    how = machine.Running(limit_s=60, environment=environment([listing], tmp_path / "isa.json"))
    run = machine.run(built, how=how)
    assert run.output.strip() == program.expected, executed(tmp_path / "isa.json").fault
    assert executed(tmp_path / "isa.json").instructions


@needs_clang
def test_waves_of_64_lanes_hold_two_warps(tmp_path):
    source = tmp_path / "lanes.sass"
    source.write_text(
        "Function : k\n /*0000*/ S2R R0, SR_LANEID ;\n /*0010*/ VOTE.ANY R1, PT, P0 ;\n"
        " /*0020*/ MOV R2, c[0x0][0x160] ;\n /*0030*/ MOV R3, c[0x0][0x164] ;\n"
        " /*0040*/ STG.E.64 [R2.64], R0 ;\n /*0050*/ EXIT ;\n"
    )
    program = lift(source)
    assert "v_mbcnt_hi" in assemble(program, "gfx942", tmp_path).assembly
    assert "v_mbcnt_hi" not in assemble(program, "gfx1100", tmp_path).assembly
