"""A port overwrites only its own unchanged files."""

import json
import resource

import pytest
from click.testing import CliRunner

from kernelwright.cli import main
from kernelwright.core.errors import UsageError
from kernelwright.port import port

KERNEL = "__global__ void k(int* p) { cudaFree(p); }\n"
RUNGS = (0,)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.cu").write_text(KERNEL)
    return folder


def texts(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.name: path.read_text(errors="replace") for path in files}


def refused(project, match, **told):
    before = texts(project.parent)
    with pytest.raises(UsageError, match=match):
        port(project, rungs=RUNGS, **told)
    assert texts(project.parent) == before


@pytest.mark.parametrize("out", ["project", "."])
def test_sources_in_the_folder_of_the_port_are_not_replaced(project, out):
    (project / "b.cuh").write_text(KERNEL)
    refused(project, "among its sources", out=project.parent / out)


def test_a_file_is_not_ported_over_itself(project):
    (project / "b.cuh").write_text(KERNEL)
    refused(project / "b.cuh", "written over", out=project)
    port(project / "a.cu", rungs=RUNGS, out=project)
    assert (project / "a.cu").read_text() == KERNEL and "hipFree" in texts(project)["a.hip"]


@pytest.mark.parametrize("out", ["out", None])
def test_two_sources_of_one_output_are_refused(project, tmp_path, out):
    (project / "a.hip").write_text(KERNEL)
    refused(project, r"a\.hip", out=out and tmp_path / out)


def test_repeating_a_port_overwrites_its_own_files_but_no_manual_change(project, tmp_path):
    out = tmp_path / "out"
    port(project, rungs=RUNGS, out=out)
    (project / "a.cu").write_text(KERNEL * 2)
    port(project, rungs=RUNGS, out=out)
    assert texts(out)["a.hip"].count("hipFree") == 2
    (out / "a.hip").write_text("// mine\n")
    refused(project, "not that of the last port", out=out)


def test_an_interrupted_port_resumes(project, tmp_path):
    port(project, rungs=RUNGS, out=tmp_path / "out")
    (tmp_path / "out/port.json").unlink()
    port(project, rungs=RUNGS, out=tmp_path / "out")


@pytest.mark.parametrize("name", ["port.json", "compile_commands.json"])
def test_foreign_files_beside_the_port_are_kept(project, tmp_path, name):
    entry = {"directory": str(project), "file": "a.cu", "command": "nvcc -DN=3 -c a.cu"}
    (project / "compile_commands.json").write_text(json.dumps([entry]))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("{}")
    refused(project, name, out=tmp_path / "out")


def test_a_port_below_its_sources_is_not_a_source(project):
    entry = {"directory": str(project), "file": "a.cu", "command": "nvcc -DN=3 -c a.cu"}
    (project / "build").mkdir()
    (project / "build/compile_commands.json").write_text(json.dumps([entry]))
    for _ in range(2):
        report = port(project, rungs=RUNGS, out=project / "again")
        assert [file.path for file in report.files] == ["a.cu"]
        assert "-DN=3" in texts(project / "again")["compile_commands.json"]


@pytest.mark.parametrize("text", ["", "{}", "[{}]", '{"a": 1}', "[1]", '[{"directory": ""}]', "["])
def test_an_invalid_compile_database_is_one_error(project, text):
    (project / "compile_commands.json").write_text(text)
    refused(project, r"compile_commands\.json is not a compile database")


@pytest.mark.parametrize("path", [".", "../project", "../project/a.cu"])
def test_a_port_is_written_beside_the_named_path(project, monkeypatch, path):
    monkeypatch.chdir(project)
    assert CliRunner().invoke(main, ["port", path, "--rungs", "0"]).exit_code == 0
    (written,) = project.parent.rglob("a.hip")
    assert written.parent.name == ("a-hip" if path.endswith(".cu") else "project-hip")


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "bin.sqlite").write_bytes(bytes(range(256)))
    refused(tmp_path / "bin.sqlite", "not ported")


def test_a_disk_that_fills_up_leaves_nothing_that_the_same_command_would_refuse(project, tmp_path):
    out = tmp_path / "out"
    (project / "a.cu").write_text(KERNEL * 100)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            port(project, rungs=RUNGS, out=out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    port(project, rungs=RUNGS, out=out)
    assert texts(out)["a.hip"].count("hipFree") == 100
