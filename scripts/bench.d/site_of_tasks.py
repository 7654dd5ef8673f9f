"""A hub with a repository, and workers, whose runner is a script. For the figures of several machines.

Standard library only. Every hub and every worker has a separate home and is ended here, by its own pid.
"""

import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from delegation import result
from probe import TIMEOUT, Missed, Peer, milliseconds
from questions import Hub
from servers import until

RUNNER = Path(__file__).with_name("cluster_runner.sh")

GIT = ["/usr/bin/git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "core.compression=0"]

# A clone has its objects in a pack.
PACKED = [["-c", "pack.window=0", "repack", "-a", "-d", "--quiet"]]

# `maker` works in a worktree, so its tasks travel.
AGENTS = {"maker": "isolation: worktree\n", "plain": ""}


def kept(stack, server):
    """A server that is removed with the stack."""
    stack.callback(server.remove)
    return server


def quiet(hub):
    """Reads what a hub writes to its log, so that it never waits for a reader."""
    threading.Thread(target=lambda: [None for _ in hub.process.stderr], daemon=True).start()


class Pipes:
    """The pipes between runs and the script: starts of runs, and the gate that holds them."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp())
        self.starts, self.gate = self.folder / "starts", self.folder / "gate"
        for pipe in (self.starts, self.gate):
            os.mkfifo(pipe)
        self.file, self.rest = os.open(self.starts, os.O_RDWR | os.O_NONBLOCK), b""

    def next(self, timeout=TIMEOUT):
        """The key and the process of the next run that starts."""
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            if not select.select([self.file], [], [], max(0, end - time.monotonic()))[0]:
                raise Missed(f"no run started within {timeout} s")
            self.rest += os.read(self.file, 65536)
        line, _, self.rest = self.rest.partition(b"\n")
        key, pid = line.decode().split()
        return key, int(pid)

    def open_gate(self):
        """Lets one waiting run end."""
        self.gate.write_text("go\n")

    def remove(self):
        os.close(self.file)
        shutil.rmtree(self.folder, ignore_errors=True)


def runner(pipes):
    command = json.dumps([str(RUNNER), str(pipes.starts), str(pipes.gate), "{prompt}"])
    return f'[[runners]]\nname = "fake"\ncommand = {command}\nstdin = "empty"\nfinal_message = "stdout"\nlevels = ["read-only", "workspace-write", "full"]\n'


class Site:
    """A hub with a committed repository, and a client; `slots` are the runs that it runs itself."""

    def __init__(self, adjutant, pipes, slots, nats=None, first="", files=("file",), tables=""):
        workers = f'[workers]\nnats = "{nats}"\n' if nats else ""

        def more(home):
            agents = home / ".adjutant/agents"
            agents.mkdir(mode=0o700)
            for name, text in AGENTS.items():
                (agents / f"{name}.yaml").write_text(f"persona: You work.\ndescription: Works\nrunner: fake\npermission: full\n{text}")
            return (f'[tasks]\nsandbox = "none"\nmax_running = {max(slots, 1)}\nmax_running_per_runner = {slots}\nper_runner = {{ fake = {slots} }}\n'
                    f"max_queued = 200000\nmax_queued_per_client = 200000\n{workers}{tables}{runner(pipes)}")

        self.hub = Hub(adjutant, more, first)
        quiet(self.hub)
        self.home, self.work, self.number = self.hub.home, self.hub.home / "work", 0
        try:
            self.work.mkdir()
            for name in files:
                (self.work / name).write_bytes(b"text\n" if len(files) == 1 else os.urandom(1_000_000))
            for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"], *PACKED):
                subprocess.run([*GIT, *arguments], cwd=self.work, env=self.hub.environment, check=True, capture_output=True)
            self.peer = self.client()
        except BaseException:
            self.remove()
            raise

    def client(self):
        peer = Peer.spawn([self.hub.process.args[0], "connect", "agents", "--no-start"], env=self.hub.environment)
        peer.greet()
        return peer

    def call(self, tool, **arguments):
        self.number += 1
        return result(self.peer, self.number, tool, **arguments)

    def task(self, text, agent="maker"):
        return {"agent": agent, "task": text, "working_directory": str(self.work)}

    def delegate(self, text, agent="maker"):
        """Delegates in the background and returns the id of the task."""
        return self.call("delegate_task", **self.task(text, agent), background=True)["task_id"]

    def end_of(self, task):
        """Waits for the end of a task and returns its result."""
        ended = lambda: self.call("task_wait", task_id=task, seconds=50)
        return until("the end of a task", lambda: (found := ended())["status"] not in ("queued", "running") and found)

    def count(self, state):
        return self.call("task_list", state=state, limit=1)["total"]

    def succeed(self, tasks, mode="quick", timeout=900):
        """Delegates so many tasks of a mode and waits until all have succeeded; returns the seconds that took."""
        before, since = self.count("succeeded"), time.perf_counter()
        for first in range(0, tasks, 50):
            batch = [self.task(f"{mode} {first + n}") for n in range(min(50, tasks - first))]
            self.call("delegate_many", tasks=batch, background=True)
        until("the end of all tasks", lambda: self.count("succeeded") >= before + tasks, timeout, 0.1)
        took = time.perf_counter() - since
        if self.count("failed") or self.count("lost"):
            raise Missed("tasks failed")
        return took

    def metric(self, *names):
        """Values of the hub's figures."""
        page, _ = self.hub.get("/metrics")
        lines = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
        return [float(lines[name]) for name in names]

    def query(self, text):
        """The rows of a question to the hub's own database."""
        store = sqlite3.connect(f"file:{self.home}/.adjutant/adjutant.db?mode=ro", uri=True, timeout=TIMEOUT)
        try:
            return store.execute(text).fetchall()
        finally:
            store.close()

    def wait_for_workers(self, count):
        until("all workers", lambda: self.query("SELECT COUNT(*) FROM workers")[0][0] >= count, pause=0.2)

    def remove(self):
        if getattr(self, "peer", None):
            self.peer.close()
        end_home(self.hub.process, self.home)


class Worker:
    """A worker for all hubs of a NATS server."""

    def __init__(self, adjutant, pipes, nats, tasks):
        self.home = Path(tempfile.mkdtemp())
        (self.home / ".adjutant").mkdir(mode=0o700)
        (self.home / ".adjutant/config.toml").write_text(f'[tasks]\nsandbox = "none"\n{runner(pipes)}')
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.home)}
        self.log = self.home / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [adjutant, "worker", "--nats", nats, "--runners", "fake", "--max-tasks", str(tasks)],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def remove(self):
        end_home(self.process, self.home)


def end_home(process, home):
    """Ends a hub or a worker and every process of its home, and removes the home."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    mark = f"HOME={home}".encode()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            pass
    shutil.rmtree(home, ignore_errors=True)


def ended_after(pid, since, timeout=TIMEOUT):
    """Waits for the end of a process and returns the milliseconds since an instant."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return milliseconds(since)
    try:
        if not select.select([watched], [], [], timeout)[0]:
            raise Missed(f"a run did not end within {timeout} s")
        return milliseconds(since)
    finally:
        os.close(watched)
