"""Real servers on loopback for the figures of several machines: NATS with JetStream, and PostgreSQL.

Standard library only. Each server has a temporary folder and is ended here, by its own pid.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from probe import TIMEOUT, Missed

ROOT = Path(__file__).resolve().parents[2]


class Absent(Exception):
    """A program that a figure needs is not installed."""


def end_in_order():
    """Makes the first signal to end the script also end everything that it has started; a further one changes nothing."""
    def end(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)


def until(what, holds, timeout=TIMEOUT, pause=0.02):
    """Waits for a true result of `holds` and returns it."""
    end = time.monotonic() + timeout
    while not (found := holds()):
        if time.monotonic() > end:
            raise Missed(f"{what}: not within {timeout} s")
        time.sleep(pause)
    return found


def cpu_seconds(pid):
    """Seconds of CPU of a process, with those of its ended children that it waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        # It ended between two looks.
        return 0.0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def children(pid):
    """The children of a process."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


class Nats:
    """A NATS server that keeps its data in a temporary folder."""

    def __init__(self):
        cache = Path(os.environ.get("ADJUTANT_TEST_CACHE", ROOT / ".cache"))
        program = cache / "python/bin/nats-server"
        if not program.exists():
            raise Absent(f"{program} is missing: run ./scripts/test once")
        self.folder = Path(tempfile.mkdtemp())
        self.process = subprocess.Popen(
            [program, "-a", "127.0.0.1", "-p", "-1", "-m", "-1", "--ports_file_dir", self.folder,
             "--jetstream", "--store_dir", self.folder / "data"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            ports = self.folder / f"nats-server_{self.process.pid}.ports"
            ports = until("the ports of the NATS server", lambda: ports.exists() and json.loads(ports.read_text() or "null"))
        except BaseException:
            self.remove()
            raise
        self.url, self.monitoring = ports["nats"][0], ports["monitoring"][0]

    def figures(self):
        """The counters of the server."""
        with urllib.request.urlopen(f"{self.monitoring}/varz", timeout=TIMEOUT) as answer:
            return json.load(answer)

    def remove(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def programs_of_postgres():
    """The folder of the newest server programs."""
    found = []
    for root in ("/usr/lib/postgresql", "/usr/local/lib/postgresql"):
        found += [path.parent for path in Path(root).glob("*/bin/initdb") if path.parents[1].name.isdigit()]
    if not found:
        raise Absent("PostgreSQL is not installed: apt-get install postgresql")
    return max(found, key=lambda folder: int(folder.parent.name))


class Postgres:
    """A PostgreSQL with its data and its socket in a temporary folder; `settings` are further ones of the server."""

    def __init__(self, **settings):
        self.programs = programs_of_postgres()
        self.folder = Path(tempfile.mkdtemp())
        self.user = {}
        if os.geteuid() == 0:
            # The server refuses to run as root.
            other = pwd.getpwnam("postgres")
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self.user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        self.environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        self.log, self.process = self.folder / "log", None
        self.run("initdb", "--no-sync", "--auth-local=trust", "--username=adjutant", "--encoding=UTF8", "--locale=C", "-D", self.folder / "data")
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-c", "listen_addresses=", "-c", "lc_messages=C", *options, "-k", self.folder,
                 "-D", self.folder / "data"],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.user,
            )
        try:
            until("PostgreSQL", lambda: b"ready to accept connections" in self.log.read_bytes())
        except BaseException:
            self.remove()
            raise
        self.url = f"postgres://adjutant@localhost/postgres?host={self.folder}"

    def run(self, program, *arguments, given=None):
        done = subprocess.run([self.programs / program, *arguments], cwd=self.folder, env=self.environment, input=given, capture_output=True, **self.user)
        if done.returncode:
            raise Missed(f"{program}: {done.stderr.decode(errors='replace')[:300]}")
        return done.stdout.decode()

    def sql(self, text):
        """The rows of the last statement, as lists of texts."""
        printed = self.run("psql", "-h", self.folder, "-U", "adjutant", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1", "-f", "-", given=text.encode())
        return [line.split("|") for line in printed.splitlines()]

    def value(self, text):
        return self.sql(text)[-1][0]

    def backends(self, measure):
        """What `measure` returns of each process that serves a connection of a hub."""
        pids = [int(pid) for pid, in self.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")]
        return [measure(pid) for pid in pids]

    def cpu_seconds(self):
        """Seconds of CPU of the server and of the connections that are open."""
        return cpu_seconds(self.process.pid) + sum(cpu_seconds(pid) for pid in children(self.process.pid))

    def remove(self):
        if self.process:
            # At once, without a last checkpoint; the server ends its children.
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
