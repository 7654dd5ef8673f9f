"""The figures of the assistant. Prints one JSON object; scripts/bench calls it.

assistant.py ADJUTANT

Standard library only. Every process has a separate home and is ended here, by its own pid. The database is SQLite in a
file, and every commit waits for the disk, as it does for a user.
"""

import asyncio
import datetime
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from probe import Missed, milliseconds

EVENTS = 100_000
# Ten a day, which is a busy calendar.
SPREAD = datetime.timedelta(days=27 * 365)
CALLS = 2_000
USERS = 10_000
EVENTS_OF_ONE = 10
DUE = 1_000
DAY = 86_400_000


class Home:
    """A separate home, and the program in it."""

    def __init__(self, adjutant, config=""):
        self.adjutant = adjutant
        self.path = Path(tempfile.mkdtemp())
        (self.path / ".adjutant").mkdir(mode=0o700)
        (self.path / ".adjutant/config.toml").write_text(config)
        self.database = self.path / ".adjutant/adjutant.db"

    def start(self, *arguments, **options):
        environment = {"HOME": str(self.path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.path)}
        return subprocess.Popen([self.adjutant, *arguments], env=environment, cwd=self.path,
                                stderr=subprocess.DEVNULL, **options)

    def run(self, *arguments):
        """Runs it to its end; what it printed, its seconds, its seconds of CPU, and its largest resident memory in MB."""
        since = time.perf_counter()
        with tempfile.TemporaryFile() as output:
            process = self.start(*arguments, stdin=subprocess.DEVNULL, stdout=output)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            took = time.perf_counter() - since
            output.seek(0)
            text = output.read().decode()
        if process.returncode:
            raise Missed(f"{' '.join(arguments)} ended with {process.returncode}")
        return text, took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def calendar(events):
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//bench//EN"]
    for number, start in events:
        end = start + datetime.timedelta(minutes=30)
        lines += ["BEGIN:VEVENT", f"UID:event-{number}@bench", f"DTSTART:{start:%Y%m%dT%H%M%SZ}",
                  f"DTEND:{end:%Y%m%dT%H%M%SZ}", f"SUMMARY:Review number {number}", "LOCATION:Room 4",
                  "DESCRIPTION:What we decided the last time\\, and what is left of it.", "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def now():
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def p99(times):
    return statistics.quantiles(times, n=100)[98]


def questions(home):
    """One server on its pipes, one call after the other."""
    server = home.start("mcp", "assistant", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        def call(name, **arguments):
            line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                               "params": {"name": name, "arguments": arguments}}).encode() + b"\n"
            since = time.perf_counter()
            server.stdin.write(line)
            server.stdin.flush()
            answer = server.stdout.readline()
            return milliseconds(since), answer

        _, answer = call("listEvents", user_id="ann")
        listed = json.loads(json.loads(answer)["result"]["content"][0]["text"])
        events = [event["id"] for event in listed["events"]]
        figures = {"listed": listed["count"]}
        asked = {
            "user": lambda n: ("getUser", {"user_id": "ann"}),
            "event": lambda n: ("getEvent", {"event_id": events[n % len(events)]}),
            "events": lambda n: ("listEvents", {"user_id": "ann"}),
        }
        for name, question in asked.items():
            times = []
            for number in range(CALLS):
                tool, arguments = question(number)
                took, answer = call(tool, **arguments)
                if b'"isError":false' not in answer:
                    raise Missed(answer[:200].decode())
                times.append(took)
            figures |= {f"{name} ms": statistics.median(times), f"{name} p99 ms": p99(times)}
        return figures
    finally:
        server.kill()
        server.wait()


def large(adjutant):
    """A calendar of very many events: read once, then asked about."""
    home = Home(adjutant)
    try:
        home.run("users", "add", "Ann", "--id", "ann", "--email", "ann@example.org")
        first, step = now() - SPREAD / 2, SPREAD / EVENTS
        (home.path / "large.ics").write_text(calendar((n, first + n * step) for n in range(EVENTS)))
        output, took, cpu, peak = home.run("events", "import", "ann", "large.ics")
        if f"{EVENTS} new" not in output:
            raise Missed(output)
        return {"imported": EVENTS, "import s": took, "import cpu s": cpu, "import peak MB": peak} | questions(home)
    finally:
        home.remove()


def people(home, users):
    """Puts users with their events into the database, as imports of their calendars would have."""
    start = int(time.time() * 1000) // DAY * DAY + DAY + 10 * 3_600_000
    with sqlite3.connect(home.database) as rows:
        for user in (f"user-{number:05}" for number in users):
            rows.execute("INSERT INTO users (id, name, email, preferences, revision, created_at, updated_at) "
                         "VALUES (?, ?, ?, '{}', 1, 0, 0)", (user, user, f"{user}@example.org"))
            rows.execute("INSERT INTO calendars (id, user_id, name, source, place) "
                         "VALUES (?, ?, 'work', 'file', '/work.ics')",
                         (f"calendar-{user}", user))
            for number in range(EVENTS_OF_ONE):
                at = start + number * DAY
                civil = datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc)
                shown = f"{civil:%Y-%m-%dT%H:%M:%S}"
                event = f"event-{user}-{number}"
                details = json.dumps({"when": {"start": shown, "length": {"days": 0, "seconds": 1800}, "zone": "UTC"}})
                rows.execute("INSERT INTO events VALUES (?, ?, ?, ?, '', 'Review', 'confirmed', ?, ?, 0, ?, ?, NULL, 0)",
                             (event, user, f"calendar-{user}", event, at, at + 1_800_000, details, event))
                rows.execute("INSERT INTO occurrences VALUES (?, ?, ?, ?, ?, 0)",
                             (event, shown, user, at, at + 1_800_000))


def crowd(adjutant):
    """Very many users, planned for one after the other; a tenth of them before, to see that memory does not grow."""
    home = Home(adjutant)
    try:
        home.run("users", "list")
        people(home, range(USERS // 10))
        *_, few = home.run("notifications", "plan", "--all")
        people(home, range(USERS // 10, USERS + USERS // 10))
        output, took, _, peak = home.run("notifications", "plan", "--all", "--json")
        planned = json.loads(output)["notifications_planned"]
        if planned < USERS * EVENTS_OF_ONE:
            raise Missed(output)
        return {"users": USERS, "planned": planned, "plan s": took, "plan few peak MB": few, "plan peak MB": peak}
    finally:
        home.remove()


class Sink(threading.Thread):
    """A mail server that takes everything and writes down when."""

    def __init__(self):
        super().__init__(daemon=True)
        self.mails, self.last, self.ready = {}, 0.0, threading.Event()
        self.start()
        self.ready.wait()

    def run(self):
        asyncio.run(self.listen())

    async def listen(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def serve(self, reader, writer):
        writer.write(b"220 sink\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                mail = await reader.readuntil(b"\r\n.\r\n")
                name = next(part for part in mail.split(b"\r\n") if part.lower().startswith(b"message-id:"))
                self.mails[name] = self.mails.get(name, 0) + 1
                self.last = time.time()
                writer.write(b"250 taken\r\n")
            elif verb == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 ok\r\n")
        writer.close()


def mails(adjutant):
    """Mails that are all due at the same moment."""
    sink = Sink()
    home = Home(adjutant, f'[notifications]\nmail = "smtp://127.0.0.1:{sink.port}"\n')
    hub = None
    try:
        home.run("users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--quiet-hours", "none", "--weekend", "both")
        due = now() + datetime.timedelta(seconds=15)
        # Within the last hour the policy notifies a quarter of an hour before the start.
        start = due + datetime.timedelta(minutes=15)
        (home.path / "due.ics").write_text(calendar((number, start) for number in range(DUE)))
        home.run("events", "import", "ann", "due.ics")
        home.run("notifications", "plan", "ann")
        hub = home.start("serve", "--http", "off", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if now() >= due:
            raise Missed("they were due before the hub had started")
        while len(sink.mails) < DUE and time.time() < due.timestamp() + 60:
            time.sleep(0.01)
        # Anything that is sent twice comes soon after.
        time.sleep(2)
        return {"mails": len(sink.mails), "mails twice": sum(sink.mails.values()) - len(sink.mails),
                "mails s": sink.last - due.timestamp()}
    finally:
        if hub:
            hub.kill()
            hub.wait()
        home.remove()


def main():
    figures = {}
    try:
        for measure in (large, crowd, mails):
            figures |= measure(sys.argv[1])
    except (Missed, OSError, KeyError, ValueError, TypeError, sqlite3.Error) as why:
        figures["failed"] = f"{type(why).__name__}: {why}"
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
