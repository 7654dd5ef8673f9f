"""The subject `mails`: notifications by mail through a server that fails, while the hub is killed."""

import signal
import subprocess
import time

import history
import mails_checker
import mails_plan
import processes
from hub_home import START_TIMEOUT, HubHome
from mails_server import MailServer

# Seconds in which a command of the user and the end of all mails must be over.
COMMAND_TIMEOUT, END_TIMEOUT = 60.0, 120.0

# Seconds between two imports.
IMPORT_PAUSE = 0.3

# Within the last hour before an event, its mail is due so many seconds before the start.
LEAD = 900


def run(seed, seconds, limit, adjutant, folder):
    """Runs for so many seconds, or until `limit` mails were taken. Returns the figures and what is broken."""
    place = Place(seed, seconds, adjutant, folder)
    began = time.monotonic()
    try:
        place.start(began)
        while time.monotonic() < began + seconds and not (limit and place.count("sent") >= limit):
            time.sleep(0.2)
        place.drain()
        place.look()
    finally:
        place.end()
    events = history.read(place.history.path)
    broken = mails_checker.check(events)
    figures = mails_checker.summary(events, broken)
    figures["seconds"] = round(time.monotonic() - began)
    return figures, broken


class Place(HubHome):
    """A home with its hub, its mail server, and a process after the other that imports events."""

    def __init__(self, seed, seconds, adjutant, folder):
        super().__init__(adjutant, folder)
        self.plan, self.server = mails_plan.make(seed, seconds), MailServer(seed, self.history)

    def start(self, began):
        """Makes the home, and starts the hub, the imports and the faults."""
        self.began = began
        (self.home / ".adjutant").mkdir(mode=0o700, parents=True)
        mail = f'[notifications]\nmail = "smtp://127.0.0.1:{self.server.port}"\n'
        (self.home / ".adjutant/config.toml").write_text(f'grace_seconds = 1\n[http]\naddress = "127.0.0.1:0"\n{mail}')
        user = ["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--quiet-hours", "none", "--weekend", "both", "--ladder", "email"]
        self.command(user)
        self.serve()
        self.carry_out(self.import_events, self.hurt_hub, self.hurt_server)

    def command(self, arguments):
        """Runs a command of the user to its end, and returns its exit code; what does not end in time is a hang."""
        process = processes.start([self.adjutant, *arguments], self.home, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            return process.wait(COMMAND_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.history.note("hang", who=f"adjutant {' '.join(arguments)}")
            process.kill()
            return process.wait()

    def import_events(self):
        """Imports one file of events after the other."""
        number = 0
        while not self.draining.wait(IMPORT_PAUSE):
            batch = mails_plan.batch(self.plan["seed"], number)
            name = f"{number}.ics"
            entries = "".join(
                f"BEGIN:VEVENT\r\nUID:{event['title']}\r\nDTSTART:{instant(event['due'] + LEAD)}\r\nDURATION:PT1H\r\nSUMMARY:{event['title']}\r\nEND:VEVENT\r\n"
                for event in batch
            )
            (self.home / name).write_text(f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//torture//EN\r\n{entries}END:VCALENDAR\r\n")
            if self.command(["events", "import", "ann", name]) == 0:
                self.history.note("imported", titles=[event["title"] for event in batch])
            number += 1

    def hurt_hub(self):
        """Kills, ends or stops the hub, and starts the next one."""
        for fault in self.planned(self.plan["faults"]):
            entry = processes.hub(self.home)
            if not entry:
                continue
            self.history.note("fault", kind=fault["kind"], at=time.time())
            self.signal(entry["pid"], fault)
            if fault["kind"] != "stop":
                self.hub.wait(START_TIMEOUT)
                time.sleep(fault["seconds"])
                self.serve()

    def hurt_server(self):
        """Lets the mail server fail for a while, again and again."""
        for fault in self.planned(self.plan["modes"]):
            self.server.turn(fault["mode"])
            self.draining.wait(fault["seconds"])
            self.server.turn("ok")

    def count(self, *states):
        """The number of notifications in these states."""
        marks = ", ".join("?" * len(states))
        return self.query(f"SELECT COUNT(*) FROM notifications WHERE status IN ({marks})", *states)[0][0]

    def drain(self):
        """Ends the faults, and waits until every mail has arrived; the user sends again what has an unknown outcome."""
        self.draining.set()
        for thread in self.threads:
            thread.join(COMMAND_TIMEOUT)
        self.stop_hub()
        # Instead of the minutes that a wait may last after many failures.
        store = self.store("rw")
        store.execute("UPDATE notifications SET try_at = due_at WHERE status = 'planned'")
        store.commit()
        store.close()
        self.serve()

        def all_ended():
            for (id,) in self.query("SELECT id FROM notifications WHERE status = 'unknown'"):
                self.history.note("again", mail=name_of(id))
                self.command(["notifications", "retry", id])
            return not self.count("planned", "sending", "unknown")
        if not processes.until(all_ended, END_TIMEOUT, 0.2):
            self.history.note("hang", who="mails that do not arrive")

    def look(self):
        """Notes the rows of all notifications and what is wrong with the database."""
        for (result,) in self.query("PRAGMA integrity_check"):
            self.history.note("integrity", result=result)
        attempts = {}
        for id, started, ended, outcome in self.query("SELECT notification_id, started_at, ended_at, outcome FROM attempts ORDER BY attempt"):
            attempt = {"started": started / 1000, "ended": ended and ended / 1000, "outcome": outcome}
            attempts.setdefault(id, []).append(attempt)
        for id, title, status in self.query("SELECT n.id, e.title, n.status FROM notifications n JOIN events e ON e.id = n.event_id"):
            self.history.note("stored", mail=name_of(id), title=title, status=status, attempts=attempts.get(id, []))

    def stop_hub(self):
        """Ends the hub; one that does not end is a hang."""
        if not self.hub:
            return
        if entry := processes.hub(self.home):
            processes.send(entry["pid"], signal.SIGTERM)
        try:
            self.hub.wait(START_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.history.note("hang", who="a hub that should end")
            self.hub.kill()
            self.hub.wait()

    def end(self):
        """Ends everything that belongs to the home."""
        self.draining.set()
        self.stop_hub()
        for pid in processes.of_home(self.home):
            processes.send(pid, signal.SIGKILL)
        self.server.close()


def name_of(id):
    """The Message-ID of a notification."""
    return f"<{id}@adjutant.invalid>"


def instant(seconds):
    """The instant in so many seconds, as iCalendar writes it."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + seconds))
