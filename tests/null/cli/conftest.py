import json
import sys

import pytest

from kernelwright.cli import main


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command line in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run_words(*words):
        with pytest.raises(SystemExit) as left:
            main.main([str(word) for word in words])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return left.value.code, out, err

    return run_words


@pytest.fixture
def ask(run):
    """Run with --json: (exit code, the one object on stdout)."""

    def ask_words(*words):
        code, out, _ = run(*words, "--json")
        return code, json.loads(out)

    return ask_words
