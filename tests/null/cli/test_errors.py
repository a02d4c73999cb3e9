"""Wrong use and bad input: one clear error each, the right exit code, and JSON where asked."""

import errno
import importlib
import os
import resource
import signal
import subprocess
import sys

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.settings import Settings


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.sqlite"
    with Archive(path) as opened:
        opened.add_task(TASK, [WORKLOAD])
        run = opened.start_run(TASK, Settings())
        opened.add_proposal(run, proposal())
        opened.add_evaluation(run, verdict(proposal().candidate))
    return path


WRONG = {
    "an unknown option": (["optimize", "x.py", "--bugdet", "3"], "--budget"),
    "an unknown command": (["optimse", "x.py"], "optimize"),
    "an unknown dialect": (["optimize", "task.py", "--dialect", "tritn"], "triton"),
    "blanks, and no model": (["optimize", "task.py", "--proposer", "rules, swarm"], "--model"),
    "an unknown device": (["optimize", "task.py", "--device", "cuba"], "cuda"),
    "a device without a judge": (["optimize", "task.py", "--device", "hip"], "cpu or cuda"),
    "the same to judge": (["judge", "task.py", "x.py", "--device", "hip"], "cpu or cuda"),
    "the same to bench": (
        ["bench", "--suite", "builtin", "--device", "hip:gfx942"], "--device cpu or cuda",
    ),
    "an unknown setting's value": (["optimize", "task.py", "--cache", "hot"], "--help"),
    "more threads than cores": (["optimize", "nothing.py", "--threads", "9999"], "0 for all"),
    "not a time": (["optimize", "task.py", "--budget", "soon"], "60s"),
    "neither task nor suite": (["optimize"], "--suite builtin"),
    "task and suite": (["optimize", "task.py", "--suite", "builtin"], "--suite builtin"),
    "a checkout that is not named": (["optimize", "--suite", "kernelbench"], "--path"),
    "an unknown problem": (["optimize", "--suite", "builtin", "--problem", "sofmax"], "softmax"),
    "a level of the built-in suite": (["optimize", "--suite", "builtin", "--level", "1"], "leave"),
    "a path of the built-in suite": (["optimize", "--suite", "builtin", "--path", "x"], "leave"),
    "constructor arguments that end early": (["optimize", "t.py:Net", "--init", "[1"], "[1024, 4"),
    "constructor arguments that are code": (["optimize", "t.py:Net", "--init", "**x"], "[1024, 4"),
    "a task that is not there": (["optimize", "nothing.py"], "path"),
    "a candidate that is not there": (["judge", "task.py", "nothing.py"], "Python file"),
    "a missing argument": (["judge", "task.py"], "--help"),
    "a receipt of a folder": (["judge", "task.py", ".", "--receipt", "r.json"], "leave it out"),
    "a suite's option without one": (["judge", "task.py", "x.py", "--level", "1"], "leave it out"),
    "a suite without a folder": (["judge", "--suite", "builtin"], "DIR"),
    "a folder without candidates": (["judge", "task.py", "."], "folder of Python files"),
    "a folder for no problem": (["judge", "--suite", "builtin", "."], "level_1_problem_3"),
    "an entry of a receipt": (["judge", "--repeat", "r.json", "--entry", "M"], "leave it out"),
    "a rung that is no number": (["port", "task.py", "--rungs", "0,x"], "0, 1, 2"),
    "no rung": (["port", "task.py", "--rungs", ""], "0, 1, 2"),
    "arguments of a program that is not run": (["port", "task.py", "--arg", "x"], "--rungs 0,1,2"),
    "a port of nothing": (["port", ""], "name a file or a folder"),
    "lessons into a damaged archive": (
        ["tasks", "lessons", "--count", "1", "--archive", "task.py"], "name another archive",
    ),
    "an archive that is not there": (["report", "nothing.sqlite"], "optimize"),
    "an archive's URL with a word for a port": (
        ["report", "postgresql://me:hunter2@host:port/x"], "sqlite:///FILE",
    ),
    "a digest that is not there": (["show", "abc", "--archive", "archive.sqlite"], "report"),
    "a task that was never run": (
        ["show", "best", "--archive", "archive.sqlite", "--task", "x"], "report",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_error_that_says_what_to_do(run, ask, task, archive, case):
    words, remedy = WRONG[case]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("  do: ") == 1 and remedy in err.partition("  do: ")[2]
    assert "Traceback" not in err and "hunter2" not in err
    code, answer = ask(*words)
    assert code == 2 and answer.keys() == {"error"}
    assert answer["error"]["what"] and remedy in answer["error"]["do"]


def test_tasks_are_not_generated_over_a_file_that_is_there(ask, tmp_path):
    (tmp_path / "composed.json").write_text("[]")
    code, answer = ask("tasks", "generate", "--count", "1", "--out", ".")
    assert code == 2 and answer["error"]["do"] == "name an empty folder"
    assert (tmp_path / "composed.json").read_text() == "[]"


@pytest.mark.parametrize("words", [[], ["tasks"], ["dataset"]])
def test_a_group_of_commands_alone_shows_its_help(run, words):
    code, out, err = run(*words)
    assert (code, err) == (0, "") and out.startswith(f"Usage: {' '.join(['kernelwright', *words])}")


SEEN = {
    "neither task nor suite": (["optimize"], "neither"),
    "task and suite": (["optimize", "task.py", "--suite", "builtin"], "task.py, --suite builtin"),
}


@pytest.mark.parametrize("case", SEEN)
def test_an_error_shows_what_was_given_and_nothing_else(ask, task, case):
    words, seen = SEEN[case]
    assert ask(*words)[1]["error"]["seen"] == seen


def test_a_report_is_not_written_over_the_archive(ask, archive):
    before = archive.read_bytes()
    code, answer = ask("report", archive, "--out", archive)
    assert code == 2 and "no report" in answer["error"]["what"]
    assert archive.read_bytes() == before
    assert ask("report", archive)[0] == ask("report", archive)[0] == 0  # over its own it is


@pytest.mark.parametrize("words", [["optimize", "task.py"], ["optimize", "--suite", "builtin"]])
def test_a_foreign_page_is_refused_before_the_search(ask, task, tmp_path, monkeypatch, words):
    for name in ("task.html", "report.html"):
        (tmp_path / name).write_text("<!doctype html>mine")
    for name in ("optimize", "optimize_suite"):
        monkeypatch.setattr(
            f"kernelwright.search.loop.{name}", lambda *_, **__: pytest.fail("searched")
        )
    code, answer = ask(*words, "--out", ".")
    assert code == 2 and "mine" in answer["error"]["seen"]


def test_a_report_goes_into_a_folder_that_is_named(ask, archive, tmp_path):
    for out in ("new/", "new"):
        assert ask("report", archive, "--out", out)[1]["report"] == "new/report.html"


@pytest.mark.parametrize("threads", [-3, 10**6])
def test_a_setting_of_threads_that_do_not_fit_this_machine(ask, task, tmp_path, threads):
    (tmp_path / "kernelwright.toml").write_text(f"threads = {threads}")
    (tmp_path / "kernel.py").write_text("class ModelNew: ...")
    code, answer = ask("judge", task, "kernel.py")
    assert code == 2 and str(threads) in answer["error"]["seen"]


def test_a_dialect_that_this_machine_cannot_run(ask, task):
    code, answer = ask("optimize", task, "--dialect", "cuda", "--device", "cpu")
    assert code == 2 and "cuda" in answer["error"]["what"] and "--device" in answer["error"]["do"]


def test_a_damaged_archive(run, ask, tmp_path):
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\x99" * 8000)
    before = path.read_bytes()
    for words in (["report", path], ["show", "best", "--archive", path]):
        code, answer = ask(*words)
        assert code == 2 and "damaged" in answer["error"]["what"]
    assert path.read_bytes() == before


def test_a_full_disk_is_a_machine_error(ask, archive, tmp_path):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert ask("report", archive)[0] == 0  # the archive's own files are as large as they will be
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, old[1]))
    try:
        code, answer = ask("report", archive, "--out", tmp_path / "page.html")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert code == 3 and "room" in answer["error"]["what"]
    with Archive(archive, create=False) as opened:
        assert len(opened.history(TASK.digest)) == 1


@pytest.mark.parametrize(
    "words",
    [["optimize", "task.py"], ["optimize", "--suite", "builtin"], ["bench", "--suite", "builtin"]],
)
def test_an_unwritable_folder_is_reported_before_anything_is_judged(ask, task, monkeypatch, words):
    monkeypatch.setattr("kernelwright.search.loop.Judge", lambda *_, **__: pytest.fail("judged"))
    monkeypatch.setattr("kernelwright.bench.suite.run", lambda *_, **__: pytest.fail("searched"))
    code, answer = ask(*words, "--out", "task.py/out")
    assert code == 2 and "task.py/out" in answer["error"]["seen"]


def test_a_read_only_file_system_is_no_full_disk(ask, archive, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system", "ro/x.html")

    monkeypatch.setattr("pathlib.Path.write_text", refuse)
    code, answer = ask("report", archive, "--out", "ro/x.html")
    assert code == 2 and "ro/x.html" in answer["error"]["seen"]
    assert "free" not in answer["error"]["do"]


def left_with(*words, **streams):
    """Return the exit code and stderr of a separate process."""
    command = [sys.executable, "-m", "kernelwright", *words]
    done = subprocess.run(command, **{"stderr": subprocess.PIPE, "text": True} | streams)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_an_unwritable_stdout_is_reported(archive, json):
    with open("/dev/full", "w") as full:
        code, err = left_with("show", "best", "--archive", str(archive), *json, stdout=full)
    assert code == 3 and "room" in err and "Traceback" not in err


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_closed_pipe_is_not_an_error(archive, json):
    read, write = os.pipe()
    os.close(read)
    code, err = left_with("show", "best", "--archive", str(archive), *json, stdout=write)
    os.close(write)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_closed_streams_behave_like_dev_null(archive, json):
    def close():
        for number in (0, 1):
            os.close(number)

    words = ("show", "best", "--archive", str(archive), *json)
    assert left_with(*words, preexec_fn=close) == (0, "")


def test_an_error_that_cannot_be_printed_keeps_its_exit_code():
    with open("/dev/full", "w") as full:
        assert left_with("show", "best", "--archive", "no", stderr=full)[0] == 2


def test_an_internal_error_is_not_a_verdict(ask, monkeypatch):
    monkeypatch.setattr("kernelwright.cli.doctor.examine", lambda: 1 / 0)
    code, answer = ask("doctor")
    assert code == 3 and "ZeroDivisionError" in answer["error"]["seen"]


def test_ctrl_c_is_not_a_crash(run, ask, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelwright.cli.doctor.examine", interrupt)
    code, answer = ask("doctor")
    assert code == 1 and answer["error"]["what"] == "interrupted"
    code, out, err = run("doctor")
    assert (code, out, err.strip()) == (1, "", "interrupted; run the same command again")


def test_sigterm_ends_like_ctrl_c(run, ask, monkeypatch):
    def terminate():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)  # while it cleans up

    monkeypatch.setattr("kernelwright.cli.doctor.examine", terminate)
    code, answer = ask("doctor")
    assert code == 143 and answer["error"]["seen"] == "SIGTERM"
    code, out, err = run("doctor")
    assert (code, out, err.strip()) == (143, "", "interrupted; run the same command again")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def heeds_ctrl_c():
    """Restore the signal as in a terminal: processes that a shell runs in the background ignore
    it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
def test_a_signal_during_imports_waits_for_their_end(run, monkeypatch, number, code):
    """Torch and Triton turn an interrupt into an error of their own, or lose it."""
    whole = importlib.import_module

    def interrupted(name):
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise ImportError("cannot import torch") from None
        return whole(name)

    monkeypatch.setattr("kernelwright.cli.importlib.import_module", interrupted)
    left, out, err = run("doctor")
    assert (left, out, err.strip()) == (code, "", "interrupted; run the same command again")
