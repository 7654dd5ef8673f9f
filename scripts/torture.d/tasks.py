"""The subject `tasks`: clients that delegate to agents with nasty runners, while every process between them is hurt."""

import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import disk
import history
import processes
import tasks_checker
import tasks_clients
import tasks_plan
from hub_home import HubHome

RUNNER = Path(__file__).with_name("tasks_runner.sh")

# Seconds in which a command of the user and everything at the end must be over.
COMMAND_TIMEOUT, END_TIMEOUT = 300.0, 400.0

# Megabytes of the file system of the home: at first, and for the tasks that are kept of each minute. A disk that is full for good
# would refuse every task.
DISK, DISK_PER_MINUTE = 256, 96

# Tasks that end between two faults of the hub, and the seconds after which the next one comes without them.
MIN_ENDED, PROGRESS_TIMEOUT = 3, 10.0


def run(seed, seconds, limit, adjutant, folder):
    """Runs for so many seconds, or until `limit` tasks have ended. Returns the figures and what is broken."""
    place = Place(seed, seconds, adjutant, folder)
    began = time.monotonic()
    try:
        place.start(began)
        while time.monotonic() < began + seconds and not (limit and place.ended() >= limit):
            time.sleep(0.5)
    finally:
        took = time.monotonic() - began
        place.drain()
        place.look()
        place.end()
    events = history.read(place.history.path)
    broken = tasks_checker.check(events)
    figures = tasks_checker.summary(events, broken)
    figures["seconds"] = round(took)
    figures["tasks a second"] = round(figures["tasks"] / took, 1)
    return figures, broken


class Place(HubHome):
    """A home with its hub, its repository, the process of the MCP clients and the user's commands."""

    def __init__(self, seed, seconds, adjutant, folder):
        super().__init__(adjutant, folder)
        self.seed, self.seconds, self.pid, self.folder = seed, seconds, os.getpid(), folder
        self.plan, self.starts = tasks_plan.make(seed, seconds), folder / "started/starts"
        self.work, self.spool = self.home / "w", self.home / ".adjutant/spool"
        self.clients, self.mounted = None, False

    def start(self, began):
        """Makes the home, and starts the hub, the clients and the faults."""
        self.began = began
        agents = self.home / ".adjutant/agents"
        self.home.mkdir()
        self.mounted = disk.mount(self.home, DISK + round(DISK_PER_MINUTE * self.seconds / 60))
        agents.mkdir(mode=0o700, parents=True)
        self.starts.parent.mkdir()
        self.starts.touch()
        for name, lines in tasks_plan.AGENTS.items():
            (agents / f"{name}.yaml").write_text(f"persona: You work.\ndescription: Works\nrunner: nasty\n{lines}")
        command = json.dumps([str(RUNNER), str(self.starts), "{prompt}"])
        (self.home / ".adjutant/config.toml").write_text(
            'grace_seconds = 2\n[http]\naddress = "127.0.0.1:0"\n'
            '[tasks]\nsandbox = "auto"\ntimeout_seconds = 4\nwait_seconds = 2\nmax_running = 8\nmax_running_per_runner = 8\n'
            f'[[runners]]\nname = "nasty"\ncommand = {command}\nstdin = "empty"\nfinal_message = "stdout"\n'
            f'levels = ["read-only", "workspace-write", "full"]\nwritable = [{json.dumps(str(self.starts.parent))}]\n'
        )
        self.work.mkdir()
        for number in range(40):
            (self.work / f"file-{number}").write_text(f"{number}\n" * number)
        for arguments in (["init", "--quiet"], ["add", "."], ["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "first"]):
            subprocess.run(["git", *arguments], cwd=self.work, env=processes.environment(self.home), check=True)
        self.serve()
        given = {
            "plan": self.plan, "pid": self.pid, "home": str(self.home), "adjutant": self.adjutant, "began": began,
            "history": str(self.history.path), "log": str(self.folder / "log"), "token": (self.home / ".adjutant/token").read_text().strip(),
        }
        (self.folder / "given.json").write_text(json.dumps(given))
        program = [sys.executable, "-B", str(Path(__file__).with_name("tasks_clients.py")), str(self.folder / "given.json")]
        self.clients = processes.start(program, self.home, stdin=subprocess.PIPE, stderr=self.log, start_new_session=True)
        lines = [Line(self, plan) for plan in self.plan["clients"] if plan["kind"] == "line"]
        self.carry_out(self.hurt_hub, self.hurt_runs, self.fill_disk)
        for line in lines:
            self.threads.append(threading.Thread(target=line.run, daemon=True))
            self.threads[-1].start()

    def ended(self):
        """The number of ended tasks."""
        return self.query("SELECT COUNT(*) FROM tasks WHERE ended_at IS NOT NULL")[0][0]

    def faults(self, targets):
        """The planned faults of these targets, each when its time has come, until the run ends."""
        return self.planned(fault for fault in self.plan["faults"] if fault["target"] in targets)

    def hurt_hub(self):
        """Carries out the planned faults of the hub."""
        for fault in self.faults(("hub",)):
            wanted = self.ended() + MIN_ENDED
            processes.until(lambda: self.draining.is_set() or self.ended() >= wanted, PROGRESS_TIMEOUT, 0.2)
            entry = processes.hub(self.home)
            if not entry or self.draining.is_set():
                continue
            kind = fault["kind"]
            self.history.note("fault", target="hub", kind=kind, pid=entry["pid"])
            if kind.startswith("restart"):
                self.command(kind.split())
            elif kind == "end":
                self.command(["stop"])
                time.sleep(fault["seconds"])
            else:
                self.signal(entry["pid"], fault)
                if kind != "stop":
                    time.sleep(fault["seconds"])
            self.serve()
            self.history.note("over", target="hub", kind=kind)

    def fill_disk(self):
        """Leaves the hub and its runs no space for the planned seconds, where the home is a file system."""
        for fault in self.faults(("disk",) if self.mounted else ()):
            self.history.note("fault", target="disk", kind="full")
            filler = disk.fill(self.home)
            time.sleep(fault["seconds"])
            filler.unlink()
            self.history.note("over", target="disk", kind="full")

    def hurt_runs(self):
        """Carries out the planned faults of supervisors, guards and runners: of a run that was not hurt yet, because the
        processes of a run without both supervisor and guard cannot be counted."""
        hurt = set()
        dice = random.Random(f"{self.seed}/runs")
        for fault in self.faults(("supervisor", "guard", "runner")):
            found = processes.until(lambda: self.draining.is_set() or [run for run in self.runs() if run["task"] not in hurt], 2.0)
            if not isinstance(found, list):
                continue
            run = dice.choice(found)
            pid = run[fault["target"]]
            if pid and processes.alive(pid):
                hurt.add(run["task"])
                self.history.note("fault", target=fault["target"], kind=fault["kind"], task=run["task"], pid=pid)
                self.signal(pid, fault)

    def runs(self):
        """The processes of the runs that are running or about to, of setup commands and of checks, by what they are; also of
        those that the last hub left."""
        found = []
        for line in processes.with_argument(f"--guard {self.spool}"):
            guard, folder = int(line.split()[0]), Path(line.split()[-1])
            try:
                record = json.loads((folder / "run.json").read_text())
            except (OSError, ValueError):
                record = {}
            found.append({"task": folder.parent.name, "guard": guard, "supervisor": record.get("supervisor"), "runner": record.get("runner")})
        return found

    def command(self, arguments, given=""):
        """Runs a command of the user to its end; what does not end in time is a hang. Returns what it prints."""
        process = processes.start(
            [self.adjutant, *arguments], self.home, self.work, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )
        try:
            return process.communicate(given, COMMAND_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            self.history.note("hang", who=f"adjutant {' '.join(arguments)}")
            process.kill()
            process.communicate()
            return ""

    def drain(self):
        """Lets every client finish, without further faults, and waits until every task has ended."""
        self.draining.set()
        if not self.clients:
            return
        self.serve()
        try:
            self.clients.stdin.write(b"\n")
            self.clients.stdin.flush()
            if self.clients.wait(2 * END_TIMEOUT) != 0:
                self.history.note("hang", who="the process of the clients, which failed")
        except (OSError, subprocess.TimeoutExpired):
            self.history.note("hang", who="the process of the clients")
        for thread in self.threads:
            thread.join(END_TIMEOUT)
        self.serve()
        def none_open():
            return not self.query("SELECT COUNT(*) FROM tasks WHERE ended_at IS NULL")[0][0]
        if not processes.until(none_open, END_TIMEOUT, 0.2):
            self.history.note("hang", who="tasks that do not end")

    def look(self):
        """Notes what is left while the hub still runs: rows, starts, processes, trees and locks."""
        if not self.clients:
            return
        store = self.store()
        for (result,) in store.execute("PRAGMA integrity_check"):
            self.history.note("integrity", result=result)
        rows = "SELECT t.id, t.state, i.text, r.outcome, t.agent FROM tasks t JOIN task_inputs i ON i.task = t.id LEFT JOIN task_results r ON r.task = t.id"
        for task, state, text, outcome, agent in store.execute(rows):
            found = json.loads(outcome) if outcome else {}
            report = found.get("run_report", {})
            repository = report.get("repository") or {}
            self.history.note(
                "stored", task=task, key=text.split()[0], mode=text.split()[1], agent=agent, state=state, has_outcome=bool(outcome),
                status=found.get("status"), message=tasks_clients.clip(found.get("message")), end=(found.get("message") or "")[-60:], failure=found.get("failure"), is_uncounted=report.get("is_uncounted", False),
                processes_left=report.get("processes_left"), output_missing=report.get("output_missing"), kept=repository.get("kept"), files_unknown=report.get("files_unknown"),
                held_by=[attempt.get("held_by", "") for attempt in report.get("attempts", [])][-1:], has_patch=f"made-{text.split()[0]}" in (repository.get("patch") or ""),
            )
        store.close()
        for line in self.starts.read_text().splitlines():
            key, task, pid = line.split()
            self.history.note("start", key=key, task=task, pid=int(pid))
        mark = tasks_plan.mark(self.seed, self.pid, "")
        # An ended task may still wait for its supervisor to be gone.
        processes.until(lambda: not processes.with_argument(str(self.spool)), 10.0)
        for line in processes.with_argument(mark) + processes.with_argument(str(self.spool)):
            self.history.note("left", process=line)
        # The hub removes files after it has stored the outcome.
        processes.until(lambda: not list(self.trees()), 5.0)
        for path, is_locked in self.trees():
            self.history.note("tree", path=str(path), locked=is_locked)
        for lock in glob.glob(f"{self.work}/.git/**/*.lock", recursive=True):
            self.history.note("tree", path=lock, locked=True)

    def trees(self):
        """The worktrees on the disk and the entries of worktrees in the repository, and whether each is locked."""
        yield from ((path, False) for path in map(Path, glob.glob(f"{self.spool}/*/tree")))
        for entry in map(Path, glob.glob(f"{self.work}/.git/worktrees/*")):
            link = entry / "gitdir"
            path = Path(link.read_text().strip()).parent if link.exists() else entry
            yield path, (entry / "locked").exists()

    def end(self):
        """Ends the hub and whatever has not ended by itself, which is a hang."""
        if entry := processes.hub(self.home):
            processes.send(entry["pid"], signal.SIGTERM)
        if self.hub:
            try:
                self.hub.wait(20.0)
            except subprocess.TimeoutExpired:
                pass
        processes.until(lambda: not self.of_run(), 20.0)
        for line in self.of_run():
            self.history.note("hang", who=f"the process {line}")
            processes.send(int(line.split()[0]), signal.SIGKILL)
        if self.mounted:
            disk.unmount(self.home)
        if not tasks_checker.check(history.read(self.history.path)):
            shutil.rmtree(self.home, ignore_errors=True)

    def of_run(self):
        """All processes that belong to this run."""
        marked = processes.with_argument(tasks_plan.mark(self.seed, self.pid, "")) + processes.with_argument(str(self.spool))
        return sorted(set(marked + [f"{pid} of the home" for pid in processes.of_home(self.home)]))


class Line(tasks_clients.Client):
    """A client that is a user at the command line."""

    def __init__(self, place, plan):
        place.marks = getattr(place, "marks", {})
        super().__init__(place, plan)

    def take_task(self, text):
        """Notes what a command printed about a task; returns the task."""
        try:
            task = json.loads(text)
        except ValueError:
            raise tasks_clients.Gone(f"no answer: {text[:200]}") from None
        self.take({"result": {"structuredContent": task | {"task_id": task["id"]}}})
        return task

    def follow(self, asked):
        way, place = asked["way"], self.place
        arguments = ["delegate", asked["agent"], "-", "--json"] + (["--timeout", f"{asked['timeout']}s"] if asked["timeout"] else [])
        text = tasks_plan.text(place.seed, place.pid, asked)
        if way in ("kills", "interrupts"):
            return self.leave(arguments, text, asked)
        if way == "waits":
            self.take_task(place.command(arguments, text))
            return None
        task = self.take_task(place.command([*arguments, "--background"], text))
        self.accept(asked, {"task_id": task["id"]})
        if way == "background-cancel":
            place.draining.wait(asked["patience"])
            self.cancelling(asked)
            place.command(["tasks", "cancel", task["id"]])
        end = time.monotonic() + tasks_clients.TASK_TIMEOUT
        while time.monotonic() < end:
            text = place.command(["tasks", "wait", task["id"], "--json"])
            if text and self.take_task(text)["status"] in tasks_clients.ENDED:
                return None
            time.sleep(0.2)
        raise TimeoutError

    def leave(self, arguments, text, asked):
        """Ends the command while it waits: with SIGINT it cancels its task, with SIGKILL the task goes on."""
        process = processes.start(
            [self.place.adjutant, *arguments], self.place.home, self.place.work, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.place.log,
        )
        try:
            process.stdin.write(text)
            process.stdin.close()
        except OSError:
            pass
        process.stdin = None
        try:
            process.wait(asked["patience"])
        except subprocess.TimeoutExpired:
            if asked["way"] == "interrupts":
                self.cancelling(asked)
            process.send_signal(signal.SIGINT if asked["way"] == "interrupts" else signal.SIGKILL)
        try:
            printed, _ = process.communicate(timeout=COMMAND_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise TimeoutError from None
        if printed.strip():
            self.take_task(printed)
