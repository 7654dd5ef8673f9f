"""A home with one hub that is hurt by a plan, for the subjects whose clients come and go."""

import os
import signal
import sqlite3
import subprocess
import threading
import time

import history
import processes

# Seconds in which a hub has to start.
START_TIMEOUT = 30.0


class HubHome:
    """The home, its hub, its history, and the threads that carry out the plan until `draining` is set."""

    def __init__(self, adjutant, folder):
        self.adjutant, self.home = adjutant, folder / "home"
        self.history = history.History(folder / "history.jsonl")
        self.log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.draining, self.threads, self.hub = threading.Event(), [], None

    def carry_out(self, *targets):
        """Runs each part of the plan in a thread; a part that fails must not look like a run without faults."""
        def noticed(target):
            try:
                target()
            except BaseException as error:
                self.history.note("hang", who=f"{target.__name__}, which failed: {error!r}")
                raise
        for target in targets:
            self.threads.append(threading.Thread(target=noticed, args=(target,), daemon=True))
            self.threads[-1].start()

    def planned(self, faults):
        """The faults, each when its time has come, until the run ends."""
        for fault in faults:
            if self.draining.wait(max(0.0, self.began + fault["at"] - time.monotonic())):
                return
            yield fault

    def serve(self):
        """Starts a hub unless one runs; what does not serve in time is a hang."""
        def serves():
            if entry := processes.hub(self.home):
                return entry
            if not self.hub or self.hub.poll() is not None:
                self.hub = processes.start([self.adjutant, "serve"], self.home, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
            return None
        if not processes.until(serves, START_TIMEOUT, 0.1):
            self.history.note("hang", who="a hub that should start")

    def signal(self, pid, fault):
        """Sends the signals of a fault to a process."""
        number = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}[fault["kind"]]
        processes.send(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(fault["seconds"])
            processes.send(pid, signal.SIGCONT)

    def store(self, mode="ro"):
        """A connection to the hub's database."""
        return sqlite3.connect(f"file:{self.home}/.adjutant/adjutant.db?mode={mode}", uri=True, timeout=20.0)

    def query(self, text, *arguments):
        """The rows of a question to the database."""
        store = self.store()
        try:
            return store.execute(text, arguments).fetchall()
        finally:
            store.close()
