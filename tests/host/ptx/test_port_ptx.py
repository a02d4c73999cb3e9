"""``kernelwright port`` of PTX: the HIP file, its report, and kernels that run under their host."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.host.port.conftest import needs_amd

pytest.importorskip("tree_sitter_cuda")
from tests.host.ptx import cases, test_memory, test_rows, test_warp

from kernelwright.bench.port_bench.program import PROGRAMS
from kernelwright.cli import main
from kernelwright.dialects.amdgpu import compile_hip
from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx.program import translate_ptx
from kernelwright.port.corpus.pair import Assembly, hip_of_ptx

PTX = Path(__file__).parent / "programs"
"""What nvcc 13 makes of programs of the port bench, for sm_80."""
needs_emulation = pytest.mark.skipif(
    machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
)


def port(tmp_path, *words):
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["port", *map(str, words), "--out", str(out), "--json"])
    return done, json.loads((out / "port.json").read_text()) if out.exists() else None


@needs_amd
def test_ptx_becomes_hip_that_compiles_for_amd_targets(tmp_path):
    done, report = port(tmp_path, PTX / "scan_segmented_warp.ptx", "--arch", "gfx942,gfx1100")
    assert done.exit_code == 0, done.output
    assert report["done"] and report["to"] == "hip"
    text = (tmp_path / "out/scan_segmented_warp.hip").read_text()
    assert 'extern "C" __global__ void' in text and "ptx_shuffled" in text


@needs_emulation
@pytest.mark.parametrize("name", ["reduce_volatile_tail", "scan_segmented_warp"])
def test_translated_kernels_leave_what_the_program_leaves(tmp_path, name):
    """The first relies on lanes in step between barriers, the second shuffles with predicates."""
    host = PROGRAMS / f"{name}.cu"
    done, report = port(tmp_path, PTX / f"{name}.ptx", "--host", host, "--rungs", "0,2")
    assert done.exit_code == 0, done.output
    (rung,) = (r for r in report["files"][0]["rungs"] if r["name"] == "emulate")
    assert rung["status"] == "passed"


@needs_amd
@needs_emulation
@pytest.mark.parametrize(("operation", "verified"), [("add.s32", "emulate"), ("sub.s32", "")])
def test_a_corpus_has_no_kernel_that_left_other_values(operation, verified):
    text = (PTX / "reduce_volatile_tail.ptx").read_text().replace("add.s32", operation)
    host = PROGRAMS / "reduce_volatile_tail.cu"
    hip, passed = hip_of_ptx((Assembly("sm_80", "ptx", text),), host, ("gfx1100",), True)
    assert (bool(hip), passed) == (bool(verified), verified)


@needs_emulation
def test_a_wrong_kernel_fails_where_it_runs(tmp_path):
    wrong = tmp_path / "wrong.ptx"
    text = (PTX / "reduce_volatile_tail.ptx").read_text()
    wrong.write_text(text.replace("add.s32", "sub.s32"))
    host = PROGRAMS / "reduce_volatile_tail.cu"
    done, report = port(tmp_path, wrong, "--host", host, "--rungs", "2")
    assert done.exit_code == 1
    assert report["files"][0]["rungs"][0]["status"] == "failed"


def test_an_instruction_without_a_row_fails_lint(tmp_path):
    odd = tmp_path / "odd.ptx"
    odd.write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        "wgmma.fence.sync.aligned;\nret;\n}\n"
    )
    done, report = port(tmp_path, odd, "--rungs", "0")
    assert done.exit_code == 1
    (found,) = (f for f in report["files"][0]["findings"] if f["state"] == "unported")
    assert found["line"] == 6 and "rocWMMA" in found["advice"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x.ptx", "--rungs", "3"], "no rung 3 of PTX"),
        (["x.ptx", "--model", "m"], "--model goes with HIP and CUDA sources"),
        (["x.ptx"], "no kernel in this file"),
        (["y.ptx"], "no such file"),
        (["x.ptx", "--html", "page.html"], "--html goes with HIP and CUDA sources"),
        (["x.ptx", "-D", "N=3"], "-D goes with HIP and CUDA sources"),
        (["x.ptx", "--to", "gfx1100", "--strict"], "--strict goes with HIP and CUDA sources"),
        (["x.ptx", "--arg", "7"], "are for programs that are run"),
        (["x.ptx", "--host", "absent.cu"], "no such host"),
    ],
)
def test_wrong_uses_are_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    Path("x.ptx").write_text("")
    done = CliRunner().invoke(main, ["port", *words])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["x.ptx"]


@needs_amd
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_row_compiles_for_an_amd_gpu_with_its_own_headers(tmp_path):
    texts, done = [], set()
    listed = [(e, test_rows.ptx_of, (o, r)) for e, o, r in test_rows.probes()]
    listed += [(e, test_memory.kernel, (o, r)) for e, o, r in test_memory.memory_probes()]
    listed += [(e, test_warp.kernel, (o, r, c)) for e, o, r, c in test_warp.probes()]
    for entry, write, given in listed:
        if (entry.ptx, entry.form) not in done:
            done.add((entry.ptx, entry.form))
            written = write(len(texts), *given)
            texts.append(written if isinstance(written, str) else written[0])
    source = tmp_path / "rows.hip"
    source.write_text(translate_ptx(cases.HEAD + "".join(texts)).text)
    built = compile_hip(source, target="gfx942", flags=("-O0",))
    assert not built.errors
    assert len(built.kernels) == len(texts)
