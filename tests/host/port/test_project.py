"""Whole projects: compile databases, folders of headers, builds, the way back."""

import json

import pytest
from tests.host.port.conftest import needs_amd

from kernelwright.dialects import nvidia
from kernelwright.port import RungStatus, port
from kernelwright.port.build_flags import build_flags, nearest_folders
from kernelwright.port.reach import folders_of_headers

KERNEL = '#include "n.h"\n__global__ void k(int* p) { *p = N; }\nvoid f() { cudaFree(0); }\n'


def lay(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_cu", ".cu").replace("_h", ".h")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@needs_amd
def test_a_compile_database_gives_include_paths(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/n.h").write_text("#define N (M + 1)\n")
    (tmp_path / "a.cu").write_text('#include "n.h"\n__global__ void k(int* p) { *p = N; }\n')
    entry = {"directory": str(tmp_path), "file": "a.cu", "command": "nvcc -Iinc -DM=3 a.cu"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    report = port(tmp_path, targets=("gfx90a",))
    assert {f.path: f.is_done for f in report.files}["a.cu"]


@needs_amd
def test_headers_of_the_project_are_found_ported_without_a_database(tmp_path):
    lay(tmp_path, src__a_cu=KERNEL, inc__n_h="#include <cuda_runtime.h>\n#define N 3\n")
    report = port(tmp_path, targets=("gfx90a",))
    assert {f.path: f.is_done for f in report.files} == {"inc/n.h": True, "src/a.cu": True}


def test_flags_are_read_from_the_build_folders_database_and_its_response_files(tmp_path):
    lay(tmp_path, a_cu=KERNEL, inc__n_h="#define N M\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/flags.rsp").write_text('-isystem "../inc" -I/usr/include')
    words = "nvcc -DM=3 -D W=1 --options-file flags.rsp -c ../a.cu"
    entry = {"directory": str(tmp_path / "build"), "file": "../a.cu", "command": words}
    (tmp_path / "build/compile_commands.json").write_text(json.dumps([entry]))
    flags = build_flags(tmp_path.resolve(), tmp_path / "out")
    found = flags[(tmp_path / "a.cu").resolve()]
    assert [str(path) for path in found.includes] == [str(tmp_path / "inc"), "/usr/include"]
    assert found.defines == ("M=3", "W=1")


def test_a_build_tree_is_not_ported(tmp_path):
    lay(tmp_path, a_cu=KERNEL, build__made_cu=KERNEL, _git__b_cu=KERNEL)
    (tmp_path / "build/CMakeCache.txt").write_text("")
    (tmp_path / "_git").rename(tmp_path / ".git")
    assert [file.path for file in port(tmp_path, rungs=(0,)).files] == ["a.cu"]


def test_a_program_of_several_files_is_not_reported_as_run(tmp_path):
    lay(tmp_path, a_cu="#include <cuda_runtime.h>\nvoid f();\nint main() { f(); cudaFree(0); }\n")
    (tmp_path / "main.cpp").write_text((tmp_path / "a.cu").read_text())
    report = port(tmp_path, rungs=(2,))
    for file in report.files:
        assert [rung.status for rung in file.rungs] == [RungStatus.NOT_CHECKED]
        assert "other file" in " ".join(file.rungs[0].details)


def test_an_original_is_run_with_its_own_headers(tmp_path):
    text = """#include "n.h"
#include <cstdio>
__global__ void k(int* p) { *p = 7; }
int main() {
  int* p;
  CHECK(cudaMallocManaged(&p, 4));
  k<<<1, 1>>>(p);
  printf("%d", *p);
}
"""
    lay(
        tmp_path,
        a_cu=text,
        n_h="#include <cuda_runtime.h>\n#define CHECK(x) (cudaSuccess == (x))\n",
    )
    done = {file.path: file.rungs for file in port(tmp_path, rungs=(2,)).files}
    assert [rung.status for rung in done["a.cu"]] == [RungStatus.PASSED]


@pytest.mark.skipif(nvidia.nvcc_missing() is not None, reason=str(nvidia.nvcc_missing()))
def test_the_way_back_is_compiled_by_nvcc(tmp_path):
    text = "#include <hip/hip_runtime.h>\nhipError_t f(int* p) { return hipFree(p); }\n"
    (tmp_path / "a.hip").write_text(text)
    assert port(tmp_path / "a.hip", to="cuda").is_done
    (tmp_path / "a.hip").write_text(text.replace("hipFree(p)", "hipFree(p, q)"))
    assert port(tmp_path / "a.hip", to="cuda").files[0].rungs[1].status is RungStatus.FAILED


def test_a_header_that_includes_ported_headers_is_written_beside_them(tmp_path):
    lay(
        tmp_path, p__a_cu='#include "plain.h"\n__global__ void k(int* p) { CHECK(p); }\n',
        p__plain_h='#include "check.h"\n', p__check_h="#define CHECK(p) cudaFree(p)\n",
        p__apart_h="int x;\n",
    )  # fmt: skip
    report = port(tmp_path / "p", rungs=(0,), out=tmp_path / "out")
    assert {f.path for f in report.files} == {"a.cu", "plain.h", "check.h"}
    assert "hipFree" in (tmp_path / "out/check.h").read_text()


def test_a_header_is_written_below_out_whichever_way_it_is_included(tmp_path, monkeypatch):
    lay(
        tmp_path, p__a_cu='#include "../p/check.h"\n__global__ void k(int* p) { CHECK(p); }\n',
        p__check_h="#define CHECK(p) cudaFree(p)\n",
    )  # fmt: skip
    monkeypatch.chdir(tmp_path / "p")
    report = port("a.cu", rungs=(0,), out="out")
    assert {f.path for f in report.files} == {"a.cu", "check.h"}
    assert "hipFree" in (tmp_path / "p/out/check.h").read_text()


def test_nearby_header_folders_come_first(tmp_path):
    folders = [tmp_path / "a/inc", tmp_path / "b/inc", tmp_path / "b/src/inc"]
    found = nearest_folders(folders, tmp_path / "b/src")
    assert found.includes == (folders[2], folders[1], folders[0])


def test_the_port_of_a_project_has_a_compile_database_for_the_way_back(tmp_path):
    lay(tmp_path, p__a_cu="__global__ void k(int* p) { *p = N; }\n")
    entry = {"directory": str(tmp_path / "p"), "file": "a.cu", "command": "nvcc -DN=3 -c a.cu"}
    (tmp_path / "p/compile_commands.json").write_text(json.dumps([entry]))
    port(tmp_path / "p", rungs=(0,), out=tmp_path / "hip")
    flags = build_flags((tmp_path / "hip").resolve(), tmp_path / "back")
    assert flags[(tmp_path / "hip/a.hip").resolve()].defines == ("N=3",)


@needs_amd
def test_a_unit_that_another_includes_is_compiled_with_it(tmp_path):
    lay(
        tmp_path, main_cu='#include "part.cu"\nint main() { f<<<1, N>>>(); cudaFree(0); }\n',
        part_cu="__global__ void f() { undeclared; }\n",
    )  # fmt: skip
    for root in (tmp_path, tmp_path / "main.cu"):
        report = port(root, targets=("gfx90a",))
        assert {f.path: len(f.rungs) for f in report.files} == {"main.cu": 2, "part.cu": 1}
        assert not report.is_done


def test_a_file_of_another_python_is_left_and_the_others_are_ported(tmp_path):
    lay(tmp_path, p__a_cu="__global__ void k() {}\n")
    (tmp_path / "p/b.py").write_text("print 'cudaMalloc'\n")
    (tmp_path / "p/c.py").write_bytes(b"# caf\xe9 cudaMalloc\n")
    files = {f.path: f for f in port(tmp_path / "p", rungs=(0,)).files}
    assert "not Python 3" in files["b.py"].rungs[0].details[0]
    assert files["c.py"].rungs[0].status is RungStatus.FAILED
    assert files["a.cu"].rungs[0].status is RungStatus.PASSED


def test_a_header_is_found_by_the_folders_that_its_include_names(tmp_path):
    text = '#include "lib/{}.cuh"\nint main() {{ return CHECK(cudaFree(0)); }}\n'
    lay(tmp_path, p__src__a_cu=text.format("common"), p__src__b_cu=text.format("outer"))
    check = "#pragma once\n#include <cuda_runtime.h>\n#define CHECK(x) (cudaSuccess != (x))\n"
    lib = tmp_path / "p/include/lib"
    lib.mkdir(parents=True)
    (lib / "common.cuh").write_text(check)
    (lib / "outer.cuh").write_text("#include <lib/plain.h>\n#include <cuda_runtime.h>\n")
    (lib / "plain.h").write_text('#include "lib/common.cuh"\n')
    report = port(tmp_path / "p", rungs=(2,), out=tmp_path / "hip")
    rungs = {file.path: file.rungs for file in report.files}
    assert [rung.status for rung in rungs["src/a.cu"]] == [RungStatus.RAN]
    assert [rung.status for rung in rungs["src/b.cu"]] == [RungStatus.RAN]


def test_header_folders_are_found_from_the_includes(tmp_path):
    lay(tmp_path, inc__lib__a_h='#include "c/c.h"\n', inc__b_h="", inc__far__c__c_h="")
    headers = [tmp_path / "inc/lib/a.h", tmp_path / "inc/b.h", tmp_path / "inc/far/c/c.h"]
    text = '#include "lib/a.h"\n#include <b.h>\n#include <other/b.h>\n#include "../b.h"\n'
    found = folders_of_headers(headers, {tmp_path / "a.cu": text})
    assert {str(path.relative_to(tmp_path)) for path in found} == {
        "inc/lib", "inc", "inc/far/c", "inc/far",
    }  # fmt: skip
