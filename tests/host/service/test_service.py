"""The service, started as a user starts it, and asked over HTTP."""

import json
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from tests.host.relu_task import RIGHT, TASK

from kernelwright.service.users import new_row

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Server:
    """The process of `kernelwright serve`, with the users alice, who may search, and bob."""

    def __init__(self, folder):
        self._folder, self.url = folder, f"http://127.0.0.1:{free_port()}"
        (self.alice, alices), (self.bob, bobs) = new_row("alice"), new_row("bob")
        rows = alices.replace("false", "true").replace("= 4", "= 2") + bobs
        (folder / "users.toml").write_text(rows)
        self.start()

    def start(self):
        words = ["serve", "--users", "users.toml", "--port", self.url.rpartition(":")[2]]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kernelwright", *words, "--budget", "5s"], cwd=self._folder
        )
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                httpx.get(self.url)
                return
            except httpx.TransportError:
                time.sleep(0.2)
        pytest.fail("the server does not answer")

    def end(self, how):
        self._process.send_signal(how)
        self._process.wait(60)

    def ask(self, method, path, token, **asked):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        how = {"json": asked} if asked else {}
        return httpx.request(method, self.url + path, headers=headers, timeout=60, **how)

    def result(self, job):
        until = time.monotonic() + 240
        while time.monotonic() < until:
            found = self.ask("GET", f"/v1/jobs/{job['id']}", self.alice).json()
            if found["state"] in ("done", "failed"):
                return found
            time.sleep(0.3)
        pytest.fail(f"no result: {found}")


@pytest.fixture
def server(tmp_path):
    found = Server(tmp_path)
    yield found
    found.end(signal.SIGINT)


def test_a_kernel_is_judged_once_and_then_answered_from_the_archive(server):
    asked = {"name": "relu", "task": TASK, "candidate": RIGHT}
    assert server.ask("POST", "/v1/verdicts", "", **asked).status_code == 401
    refused = server.ask("POST", "/v1/verdicts", server.bob, **asked)
    assert refused.status_code == 403 and "may_search" in refused.json()["detail"]

    first = server.ask("POST", "/v1/verdicts", server.alice, **asked).json()
    server.end(signal.SIGKILL)  # the job waits again
    server.start()
    done = server.result(first)
    assert done["result"]["status"] == "passed", done
    receipt = server.ask("GET", f"/v1/jobs/{first['id']}/receipt.json", server.alice)
    assert receipt.status_code == 200 and json.loads(receipt.text)

    again = server.ask("POST", "/v1/verdicts", server.bob, **asked).json()  # the task is known
    assert again["state"] == "done" and again["result"]["status"] == "passed"
    assert server.ask("GET", f"/v1/jobs/{first['id']}", server.bob).status_code == 404


def test_who_has_too_many_jobs_waits_and_a_broken_task_is_told(server):
    asked = {"task": TASK + "\nraise RuntimeError('no such data')", "candidate": RIGHT}
    jobs = [server.ask("POST", "/v1/verdicts", server.alice, name=n, **asked) for n in "abc"]
    assert [job.status_code for job in jobs] == [202, 202, 429]
    failed = server.result(jobs[0].json())
    assert failed["state"] == "failed" and "no such data" in str(failed["error"])


def test_a_page_shows_the_jobs_and_loads_nothing_from_elsewhere(server):
    page = httpx.get(server.url)
    assert (
        page.status_code == 200 and "default-src 'none'" in page.headers["content-security-policy"]
    )
    assert httpx.get(f"{server.url}/page/jobs.js").status_code == 200
    assert httpx.get(f"{server.url}/page/..%2Fusers.py").status_code == 404


def test_what_others_reach_needs_users(tmp_path):
    words = [sys.executable, "-m", "kernelwright", "serve", "--host", "0.0.0.0"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "needs users" in done.stderr
