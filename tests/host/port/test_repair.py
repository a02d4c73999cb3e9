"""Files that rules leave unfinished: a real server answers as the test says, and the ladder
decides."""

import json

import pytest
from click.testing import CliRunner
from tests.host.port.conftest import needs_amd
from tests.null.swarm.conftest import scripted  # noqa: F401  the same server
from tests.null.swarm.scripted import fail, say

from kernelwright.cli import main
from kernelwright.hipify import translate
from kernelwright.proposers.port.repair import UnfinishedFile, prompt, read

SOURCE = """#include <cstdio>
__global__ void add(unsigned* p) {
  unsigned v;
  asm("vadd4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(0x01020304u), "r"(1u), "r"(0u));
  p[threadIdx.x] = v;
}
int main() {
  unsigned* p;
  cudaMallocManaged(&p, 4);
  add<<<1, 1>>>(p);
  cudaDeviceSynchronize();
  printf("%x\\n", p[0]);
}
"""
PTX = SOURCE.splitlines()[3].strip()
RIGHT = "v = 0x01020304u + 1u;"


def block(text):
    return f"It is done.\n```cpp\n{text}```\n"


@pytest.fixture
def run(tmp_path, scripted):  # noqa: F811
    def asked(*options):
        (tmp_path / "add.cu").write_text(SOURCE)
        words = ["port", str(tmp_path / "add.cu"), "--out", str(tmp_path / "out")]
        done = CliRunner().invoke(main, [*words, "--model", scripted.model, *options])
        (file,) = json.loads((tmp_path / "out/port.json").read_text())["files"]
        return done.exit_code, file, (tmp_path / "out/add.hip").read_text()

    return asked


@needs_amd
def test_useless_answers_are_sent_back_until_the_ladder_passes(run, scripted):  # noqa: F811
    ported = translate(SOURCE).text
    scripted.script = [
        say("I cannot."),
        say(block("int main() {}\n")),
        say(block(ported.replace(PTX, RIGHT))),
    ]
    code, file, text = run("--rungs", "0,1", "--arch", "gfx942")
    assert code == 0
    assert RIGHT in text
    assert [repair["is_kept"] for repair in file["repairs"]] == [False, False, True]
    assert "leaves out add" in file["repairs"][1]["unusable"]
    last = scripted.requests[-1]["messages"][-1]["content"]
    assert "vadd4.u32.u32.u32" in last and "it leaves out add" in last
    (note,) = [f for f in file["findings"] if f["construct"] == "repair by a model"]
    assert note["state"] == "changed" and note["became"] == scripted.model


@needs_amd
def test_only_requested_rungs_decide(run, scripted):  # noqa: F811
    broken = translate(SOURCE).text.replace(PTX, "v = nothing;")
    scripted.script = [say(block(broken))]
    code, file, text = run("--rungs", "0", "--budget", "200tok")
    assert code == 0 and "nothing" in text  # rung 0 alone sees no compiler
    code, file, text = run("--rungs", "0,1", "--arch", "gfx942")
    assert code == 1
    assert [rung["status"] for rung in file["rungs"]] == ["passed", "failed"]


def test_a_model_that_fails_leaves_the_rules_text(run, scripted):  # noqa: F811
    scripted.script = [fail(400, "no")]
    code, file, text = run("--rungs", "0")
    assert code == 1
    assert text == translate(SOURCE).text
    assert {repair["outcome"] for repair in file["repairs"]} == {"failed"}


def test_prices_without_a_model_are_an_error(tmp_path):
    (tmp_path / "a.cu").write_text(SOURCE)
    done = CliRunner().invoke(main, ["port", str(tmp_path / "a.cu"), "--price", "x=1/2"])
    assert done.exit_code == 2 and "--model" in done.output


def test_a_prompt_holds_both_texts_and_the_faults():
    work = UnfinishedFile("a.cu", "CUDA TEXT", "HIP TEXT", ("compile: gfx942: error",), ("gfx942",))
    (_, system), (_, user) = prompt(work)
    assert "gfx942" in system
    assert all(part in user for part in ("CUDA TEXT", "HIP TEXT", "compile: gfx942: error"))


def test_kernels_with_launch_bounds_are_found_by_name():
    ported = "__global__ void __launch_bounds__(64) k(int* p) {}\n"
    assert read(block("int x;\n"), ported) == ("", "it leaves out k")
    assert read(block(ported), ported) == (ported, "")
