"""A world: a home with its hub, the process of its agents, the interfaces of its user, and the faults that hit its hub."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import answerers
import disk
import processes
from http_link import Gone
from ntfy import Ntfy

# Megabytes of the file system of a world whose disk is filled: some 140,000 questions, more than an hour of them.
DISK = 256

# Answers between two faults of a hub, and the seconds after which the next one comes without them.
MIN_ANSWERS, PROGRESS_TIMEOUT = 5, 30.0

# Seconds for which each part of a world may take to end.
END_TIMEOUT = 120.0


class World:
    """One world of a run, in `folder`."""

    def __init__(self, plan, folder, adjutant, history):
        self.plan, self.adjutant, self.history = plan, adjutant, history.of(plan["name"])
        self.home, self.folder = folder / plan["name"], folder
        self.over, self.draining = threading.Event(), threading.Event()
        self.alone = free_address() if plan["name"] == "alone" else None
        self.ntfy = Ntfy() if "phone" in plan["channels"] else None
        self.hub_process = self.agents = None
        self.mounted = False
        # Answers that were accepted so far.
        self.accepted = 0
        self.log = os.open(folder / f"{plan['name']}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def start(self, began):
        """Starts the hub, then the agents, then the user's interfaces."""
        self.home.mkdir()
        if any(fault["kind"] == "disk" for fault in self.plan["faults"]):
            self.mounted = disk.mount(self.home, DISK)
        (self.home / ".adjutant").mkdir(mode=0o700)
        (self.home / ".adjutant/config.toml").write_text(self.configuration())
        intruder = ""
        if not self.alone:
            self.serve()
            if self.plan["passphrase"]:
                self.set_passphrase()
            intruder = self.run("tokens", "add", "intruder")
        given = {
            "world": self.plan, "home": str(self.home), "adjutant": self.adjutant, "began": began, "history": str(self.history.path),
            "log": str(self.folder / f"{self.plan['name']}.log"), "alone": self.alone, "intruder": intruder,
            "token": "" if self.alone else (self.home / ".adjutant/token").read_text().strip(),
        }
        plan = self.folder / f"{self.plan['name']}.json"
        plan.write_text(json.dumps(given))
        command = [sys.executable, "-B", str(Path(__file__).with_name("agents.py")), str(plan)]
        self.agents = processes.start(command, self.home, stdin=subprocess.PIPE, stderr=self.log, start_new_session=True)
        channels = self.plan["channels"] + ([] if "browser" in self.plan["channels"] else ["browser"])
        self.user = [answerers.KINDS[channel](self) for channel in channels]
        for interface in self.user:
            interface.start()
        threading.Thread(target=self.hurt_hub, args=(began,), daemon=True).start()

    def configuration(self):
        """The hub's `config.toml`."""
        lines = [
            "grace_seconds = 2", "[http]", 'address = "127.0.0.1:0"',
            "[questions]", f"undo_milliseconds = {self.plan['undo']}", "wait_seconds = 1", "disconnect_grace_seconds = 600",
        ]
        if self.ntfy:
            lines += ["[ntfy]", f'server = "{self.ntfy.url}"', 'topic = "bell"', 'reply_topic = "back"']
        return "\n".join(lines) + "\n"

    def run(self, *arguments):
        """Runs a command of the user to its end, and returns what it prints."""
        done = subprocess.run([self.adjutant, *arguments], cwd=self.home, env=processes.environment(self.home), capture_output=True, text=True, timeout=30)
        return done.stdout.strip()

    def serve(self):
        """Starts a hub unless one runs, and waits until it serves."""
        if not processes.hub(self.home):
            if self.hub_process:
                self.hub_process.wait(30)
            self.hub_process = processes.start([self.adjutant, "serve"], self.home, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        return processes.until(lambda: processes.hub(self.home), 20.0)

    def address(self):
        """Where the console is, as `HOST:PORT`."""
        if self.alone:
            return self.alone
        entry = processes.hub(self.home)
        if not entry or not entry["http"]:
            raise Gone("no hub runs")
        return entry["http"]

    def set_passphrase(self):
        """Sets the approval passphrase, before any agent is there."""
        dialogue = processes.Dialogue([self.adjutant, "passphrase"], self.home)
        for prompt in ("New passphrase (at least 8 characters):", "Repeat the passphrase:"):
            dialogue.answer(prompt, self.plan["passphrase"])
        dialogue.shows("is set")
        text = dialogue.close()
        if "is set" not in text:
            raise RuntimeError(f"the approval passphrase was not set: {text}")

    def login_link(self):
        """A link that logs a browser in. A terminal gives the passphrase for it where one is set."""
        if not self.plan["passphrase"]:
            return self.run("open", "--print", *([self.alone] if self.alone else []))
        script = '"$0" passphrase --prove && "$0" open --print'
        dialogue = processes.Dialogue(["/bin/sh", "-c", script, self.adjutant], self.home)
        dialogue.answer("Approval passphrase:", self.plan["passphrase"], 10.0)
        return dialogue.close()

    def hurt_hub(self, began):
        """Carries out the planned faults of the hub."""
        for fault in self.plan["faults"]:
            if "asker" in fault:
                continue
            if self.draining.wait(max(0.0, began + fault["at"] - time.monotonic())):
                return
            # On a slow machine the next fault waits until the user has got somewhere after the last one.
            wanted = self.accepted + MIN_ANSWERS
            processes.until(lambda: self.accepted >= wanted or self.draining.is_set(), PROGRESS_TIMEOUT, 0.1)
            entry = processes.hub(self.home)
            if not entry or self.draining.is_set():
                continue
            if fault["kind"] == "disk":
                self.fill_disk(entry["pid"], fault["seconds"])
                continue
            names = {"kill": "kill -9 hub", "term": "TERM hub", "stop": "STOP hub"}
            self.history.note("fault", kind=names[fault["kind"]], pid=entry["pid"])
            if fault["kind"] == "stop":
                processes.send(entry["pid"], signal.SIGSTOP)
                time.sleep(fault["seconds"])
                processes.send(entry["pid"], signal.SIGCONT)
            else:
                processes.send(entry["pid"], signal.SIGKILL if fault["kind"] == "kill" else signal.SIGTERM)
                # Until then a relay may start the next one.
                time.sleep(fault["seconds"])
                self.bring_back()
            self.history.note("fault", kind=f"{names[fault['kind']]}, over")

    def bring_back(self):
        """Starts a hub where none runs; what is wrong with that is a hang."""
        if not processes.until(self.serve, 30.0):
            self.history.note("hang", who="a hub that should start")

    def fill_disk(self, pid, seconds):
        """Leaves the hub no space for so many seconds: on a separate file system, or by a limit of the size of files."""
        self.history.note("fault", kind="full disk" if self.mounted else "file limit", pid=pid)
        if self.mounted:
            filler = disk.fill(self.home)
        else:
            before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, before[1]))
        time.sleep(seconds)
        if self.mounted:
            filler.unlink()
        elif processes.belongs(pid, self.home):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.history.note("fault", kind="disk, over")

    def drain(self):
        """Lets every asker finish its question, without further faults."""
        self.draining.set()
        if not self.agents:
            return
        try:
            self.agents.stdin.write(b"\n")
            self.agents.stdin.flush()
        except OSError:
            pass

    def end(self):
        """Waits for the agents, and ends everything that belongs to the home. What does not end by itself is a hang."""
        try:
            if self.agents and self.agents.wait(END_TIMEOUT) != 0:
                self.history.note("hang", who="the process of the agents, which failed")
        except subprocess.TimeoutExpired:
            self.history.note("hang", who="the process of the agents")
        self.over.set()
        for interface in getattr(self, "user", []):
            interface.join(20.0)
        if entry := processes.hub(self.home):
            processes.send(entry["pid"], signal.SIGTERM)
        if self.hub_process:
            try:
                self.hub_process.wait(20.0)
            except subprocess.TimeoutExpired:
                pass
        left = processes.until(lambda: not processes.of_home(self.home), 20.0) is None
        for pid in processes.of_home(self.home):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            self.history.note("hang", who=f"the process {pid}, {command}", left=left)
            processes.send(pid, signal.SIGKILL)
        if self.ntfy:
            self.ntfy.close()

    def clean(self):
        """Gives back what the file system lent, and keeps the logs of the detached hubs with the history."""
        logs = [self.home / ".adjutant/logs" / name for name in ("hub.log.1", "hub.log")]
        for log in filter(Path.is_file, logs):
            with open(self.folder / f"{self.home.name}.log", "ab") as kept:
                kept.write(log.read_bytes())
        if self.mounted:
            disk.unmount(self.home)
        shutil.rmtree(self.home, ignore_errors=True)


def free_address():
    """An address of loopback with a port that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"
