"""Progress: plain lines where stderr is no terminal, and the time that is left runs on."""

from kernelwright.cli.commands.judge import _waiting_line
from kernelwright.console.progress import ShowProgress
from kernelwright.core.evaluation import Ratio
from kernelwright.search.result import Progress


def test_progress_shows_the_candidate_the_best_and_the_time_left(capfd):
    with ShowProgress(plain_every_s=0) as progress:
        progress(Progress("relu", "cpp: \x1b[31mtile", None, 0, 60.0))
        progress(Progress("relu", "cpp: next", Ratio(1.5, 1.4, 1.6), 1, 58.0))
    out, err = capfd.readouterr()
    first, second = err.splitlines()
    assert out == "" and "\x1b" not in err
    assert first.startswith("relu · no verdict yet · 60 s left · cpp: ")
    assert second == "relu · best 1.50 (1.40–1.60) × · 1 judged · 58 s left · cpp: next"


def test_a_pipe_gets_a_line_only_when_something_changed_and_few_of_them(capfd):
    with ShowProgress(plain_every_s=0) as progress:
        progress(Progress("relu", "trying", None, 0, 60.0, n_trials=4, trials_per_s=0.5))
        progress(Progress("relu", "trying", None, 0, 59.0, n_trials=4, trials_per_s=0.4))
        progress(Progress("relu", "trying", None, 2, 58.0, n_trials=8, trials_per_s=0.4))
    first, second = capfd.readouterr().err.splitlines()
    assert first == "relu · no verdict yet · 4 trials, 0.5/s · 60 s left · trying"
    assert second == "relu · library is ahead · 2 judged · 8 trials, 0.4/s · 58 s left · trying"
    with ShowProgress() as progress:
        for number in range(5):
            progress(Progress("relu", f"cpp: {number}", None, number, 60.0))
        progress(Progress("relu", "no trials: no g++", None, 5, 60.0, is_notice=True))
    first, last = capfd.readouterr().err.splitlines()
    assert first.endswith("cpp: 0") and last.endswith("no trials: no g++")


def test_the_cost_of_models_is_shown(capfd):
    with ShowProgress(plain_every_s=0) as progress:
        progress(Progress("relu", "m: write", None, 0, 60.0, tokens=12_340))
        progress(Progress("relu", "m: write", None, 0, 60.0, tokens=12_340, cost_usd=0.05))
    free, paid = capfd.readouterr().err.splitlines()
    assert free == "relu · no verdict yet · 12.3 ktok · 60 s left · m: write"
    assert " · 12.3 ktok, 0.0500 USD · 60 s left · " in paid


def test_the_time_left_counts_down_between_two_reports(monkeypatch):
    clock = iter([0.0, 10.0, 14.4])
    monkeypatch.setattr("kernelwright.console.progress.time.monotonic", lambda: next(clock))
    progress = ShowProgress()
    progress._is_terminal = True
    progress(Progress("relu", "cpp", None, 0, 60.0))
    assert "56 s left" in progress._line().plain


def test_a_single_verdict_shows_what_it_waits_for_and_the_time_limit(capfd):
    with ShowProgress(_waiting_line) as progress:
        progress("hangs.py")
    text = "judging hangs.py, which may take 180 s to build, 180 to be called once"
    assert capfd.readouterr().err == f"{text}\n"
    assert _waiting_line("hangs.py", 12.3) == f"{text} · 12 s"
