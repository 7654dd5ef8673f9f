"""The subject `cluster`: two hubs and three workers on one NATS server, while every one of them is hurt."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import cluster_checker
import cluster_nats
import cluster_plan
import history
import processes
from hub_home import START_TIMEOUT, HubHome

RUNNER = Path(__file__).with_name("cluster_runner.sh")

# Seconds in which a command of the user and everything at the end must be over.
COMMAND_TIMEOUT, END_TIMEOUT = 60.0, 180.0

# Seconds without a report after which a hub gives a worker up.
LOST_AFTER = 3

# What a log says of the repository that cannot travel.
REFUSAL = "has the submodule"

GIT = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]


def run(seed, seconds, limit, adjutant, folder):
    """Runs for so many seconds, or until `limit` tasks were accepted. Returns the figures and what is broken."""
    place = Place(seed, seconds, adjutant, folder)
    began = time.monotonic()
    try:
        place.start(began)
        while time.monotonic() < began + seconds and not (limit and place.accepted >= limit):
            time.sleep(0.2)
        place.drain()
        place.look()
    finally:
        place.end()
    events = history.read(place.history.path)
    broken = cluster_checker.check(events)
    figures = cluster_checker.summary(events, broken)
    figures["seconds"] = round(time.monotonic() - began)
    return figures, broken


class Hub(HubHome):
    """A hub with a repository that travels and one that cannot; it runs no task itself."""

    def __init__(self, name, place):
        self.name, self.place, self.folder = name, place, place.folder / f"hub-{name}"
        self.folder.mkdir()
        super().__init__(place.adjutant, self.folder)
        self.history, self.draining = place.history, place.draining

    def make(self, starts, url):
        """Makes the home."""
        agents = self.home / ".adjutant/agents"
        agents.mkdir(mode=0o700, parents=True)
        (agents / "maker.yaml").write_text("persona: You work.\ndescription: Works\nrunner: fake\npermission: full\nisolation: worktree\n")
        (self.home / ".adjutant/config.toml").write_text(
            'grace_seconds = 1\n[http]\naddress = "127.0.0.1:0"\n[tasks]\nsandbox = "none"\nper_runner = { fake = 0 }\n'
            f'[workers]\nnats = "{url}"\nlost_after_seconds = {LOST_AFTER}\n{runner(starts)}'
        )
        for name in ("w", "o", "s"):
            (self.home / name).mkdir()
            (self.home / name / "file").write_text(f"{name}\n")
            self.git(name, "init", "--quiet")
            self.git(name, "add", ".")
            self.git(name, "commit", "--quiet", "-m", "first")
        self.git("s", "submodule", "--quiet", "add", str(self.home / "o"), "sub")
        self.git("s", "commit", "--quiet", "-m", "sub")
        # An uncommitted change travels with each task.
        (self.home / "w/file").write_text("changed\n")

    def git(self, folder, *arguments):
        """What git prints in a folder of the home."""
        done = subprocess.run([*GIT, *arguments], cwd=self.home / folder, env=processes.environment(self.home), check=True, capture_output=True, text=True)
        return done.stdout

    def command(self, arguments, folder=None, given=""):
        """Runs a command of the user and returns what it prints; None when it fails, because its hub may be hurt."""
        process = processes.start([self.adjutant, *arguments], self.home, folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        try:
            printed = process.communicate(given, COMMAND_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            self.history.note("hang", who=f"adjutant {' '.join(arguments)}")
            process.kill()
            process.communicate()
            return None
        return printed if process.returncode == 0 else None

    def delegate(self):
        """Delegates one task after the other, and cancels some of them."""
        number = 0
        while not self.draining.is_set():
            task = cluster_plan.task(self.place.seed, self.name, number)
            number += 1
            text = f"{task['key']} {task['mode']} {task['seconds']}"
            printed = self.command(["delegate", "maker", "-", "--background", "--json"], self.home / task["folder"], text)
            if printed:
                id = json.loads(printed)["id"]
                self.history.note("accepted", hub=self.name, key=task["key"], task=id, mode=task["mode"], folder=task["folder"])
                self.place.accepted += 1
                if task["cancel"]:
                    self.draining.wait(task["pause"])
                    self.cancel(task["key"], id)
            self.draining.wait(task["pause"])

    def cancel(self, key, id):
        """Cancels a task as the user does."""
        self.history.note("cancel", key=key)
        self.command(["tasks", "cancel", id])

    def open_tasks(self):
        """The tasks without an outcome: id, text, folder, state."""
        return self.query("SELECT t.id, i.text, t.workdir, t.state FROM tasks t JOIN task_inputs i ON i.task = t.id WHERE t.ended_at IS NULL")

    def hurt(self, fault):
        """Kills, ends or stops the hub, and starts the next one."""
        entry = processes.hub(self.home)
        if not entry:
            return
        self.signal(entry["pid"], fault)
        if fault["kind"] != "stop":
            if self.hub:
                self.hub.wait(START_TIMEOUT)
            time.sleep(min(fault["seconds"], 2.0))
        self.serve()

    def look(self, logs):
        """Notes the rows of all tasks, and what is left."""
        for (result,) in self.query("PRAGMA integrity_check"):
            self.history.note("integrity", result=result)
        references = self.git("w", "for-each-ref", "--format=%(refname)", "refs/adjutant").split()
        for reference in references:
            if reference.startswith("refs/adjutant/base/"):
                self.history.note("base", hub=self.name, reference=reference)
        rows = "SELECT t.id, t.state, t.workdir, i.text, r.outcome FROM tasks t JOIN task_inputs i ON i.task = t.id LEFT JOIN task_results r ON r.task = t.id"
        for id, state, workdir, text, outcome in self.query(rows):
            key, mode, _ = text.split()
            outcome = json.loads(outcome or "{}")
            reference = f"refs/adjutant/{id}"
            has_file = reference in references and f"made-{key}" in self.git("w", "ls-tree", "--name-only", reference).split()
            self.history.note(
                "stored", hub=self.name, task=id, key=key, mode=mode, state=state, folder=Path(workdir).name, status=outcome.get("status"),
                reason=(outcome.get("failure") or {}).get("class"), worker=(outcome.get("run_report") or outcome.get("report") or {}).get("worker"),
                has_file=has_file, refusal_in_log=any(id in line and REFUSAL in line for line in logs),
            )

    def end(self):
        """Ends the hub and everything of its home."""
        if entry := processes.hub(self.home):
            processes.send(entry["pid"], signal.SIGTERM)
        if self.hub:
            try:
                self.hub.wait(START_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.history.note("hang", who=f"hub {self.name}, which should end")
                self.hub.kill()
                self.hub.wait()
        for pid in processes.of_home(self.home):
            processes.send(pid, signal.SIGKILL)


class Worker:
    """A worker with a home of its own."""

    def __init__(self, name, place):
        self.name, self.place = name, place
        self.folder = place.folder / f"worker-{name}"
        self.home, self.process = self.folder / "home", None
        (self.home / ".adjutant").mkdir(mode=0o700, parents=True)
        (self.home / ".adjutant/config.toml").write_text(f'[tasks]\nsandbox = "none"\n{runner(place.starts)}')
        self.log = os.open(self.folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def start(self):
        """Starts the worker."""
        command = [self.place.adjutant, "worker", "--nats", self.place.nats.url, "--runners", "fake", "--max-tasks", "3"]
        self.process = processes.start(command, self.home, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def hurt(self, fault):
        """Kills or ends the worker and starts it again, or stops it for a while."""
        if fault["kind"] == "stop":
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(fault["seconds"])
            self.process.send_signal(signal.SIGCONT)
            return
        self.process.send_signal(signal.SIGKILL if fault["kind"] == "kill" else signal.SIGTERM)
        try:
            self.process.wait(START_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.place.history.note("hang", who=f"worker {self.name}, which should end")
            self.process.kill()
            self.process.wait()
        time.sleep(fault["seconds"])
        self.start()

    def orders(self):
        """The tasks whose results are in the outbox, or that run."""
        return list((self.home / ".adjutant/worker/orders").glob("*"))

    def end(self):
        """Ends the worker and everything of its home."""
        if self.process:
            self.process.kill()
            self.process.wait()
        for pid in processes.of_home(self.home):
            processes.send(pid, signal.SIGKILL)


class Place:
    """Two hubs, three workers and a NATS server."""

    def __init__(self, seed, seconds, adjutant, folder):
        self.seed, self.adjutant, self.folder = seed, adjutant, folder
        self.plan = cluster_plan.make(seed, seconds)
        self.history, self.draining = history.History(folder / "history.jsonl"), threading.Event()
        self.starts, self.accepted, self.threads = folder / "starts", 0, []
        self.starts.touch()
        self.log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.nats = cluster_nats.Server(folder / "nats", self.log)
        self.hubs = {name: Hub(name, self) for name in cluster_plan.HUBS}
        self.workers = {name: Worker(name, self) for name in cluster_plan.WORKERS}

    def start(self, began):
        """Starts everything, and the faults."""
        self.began = began
        self.nats.start()
        for hub in self.hubs.values():
            hub.make(self.starts, self.nats.url)
            hub.serve()
        for worker in self.workers.values():
            worker.start()
        replayer = cluster_nats.Replayer(self.seed, self.nats.port, self.history, self.draining)
        targets = [hub.delegate for hub in self.hubs.values()] + [replayer.run]
        targets += [lambda target=target: self.hurt(target) for target in cluster_plan.FAULTS]
        for target in targets:
            self.threads.append(threading.Thread(target=self.noticed, args=(target,), daemon=True))
            self.threads[-1].start()

    def noticed(self, target):
        """Runs a part of the plan; a part that fails must not look like a run without faults."""
        try:
            target()
        except BaseException as error:
            self.history.note("hang", who=f"a part of the plan, which failed: {error!r}")
            raise

    def hurt(self, target):
        """Carries out the faults of hubs, of workers or of the NATS server, each when its time has come."""
        named = {"hub": self.hubs, "worker": self.workers, "nats": {"nats": self.nats}}[target]
        for fault in self.plan["faults"]:
            if fault["target"] != target:
                continue
            if self.draining.wait(max(0.0, self.began + fault["at"] - time.monotonic())):
                return
            self.history.note("fault", target=target, name=fault["name"], kind=fault["kind"])
            named[fault["name"]].hurt(fault)

    def drain(self):
        """Ends the faults, and waits until every task has ended; the user cancels those that cannot travel."""
        self.draining.set()
        for thread in self.threads:
            thread.join(COMMAND_TIMEOUT)
        for hub in self.hubs.values():
            hub.serve()

        def all_ended():
            count = 0
            for hub in self.hubs.values():
                for id, text, workdir, _ in hub.open_tasks():
                    count += 1
                    if Path(workdir).name == "s" and self.is_refused(id):
                        hub.cancel(text.split()[0], id)
            return not count
        if not processes.until(all_ended, END_TIMEOUT, 0.5):
            self.history.note("hang", who="tasks that do not end")
        if not processes.until(lambda: not any(worker.orders() for worker in self.workers.values()), END_TIMEOUT, 0.2):
            for worker in self.workers.values():
                for order in worker.orders():
                    self.history.note("order", worker=worker.name, path=order.name)

    def logs(self):
        """The lines of all logs."""
        files = [*self.folder.glob("hub-*/log"), *self.folder.glob("hub-*/home/.adjutant/logs/hub.log"), *self.folder.glob("worker-*/log")]
        return [line for file in files for line in file.read_text(errors="replace").splitlines()]

    def is_refused(self, id):
        """Whether a log says why a task stays on its hub."""
        return any(id in line and REFUSAL in line for line in self.logs())

    def look(self):
        """Notes the starts of the runner, and what each hub has stored."""
        for line in self.starts.read_text().splitlines():
            self.history.note("start", key=line.split()[0])
        logs = [line for line in self.logs() if REFUSAL in line]
        for hub in self.hubs.values():
            hub.look(logs)

    def end(self):
        """Ends everything."""
        self.draining.set()
        for one in (*self.workers.values(), *self.hubs.values(), self.nats):
            one.end()


def runner(starts):
    """The lines of config.toml with the runner."""
    command = json.dumps([str(RUNNER), str(starts), "{prompt}"])
    return f'[[runners]]\nname = "fake"\ncommand = {command}\nstdin = "empty"\nfinal_message = "stdout"\nlevels = ["read-only", "workspace-write", "full"]\n'
