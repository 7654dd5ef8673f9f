"""The history of a run: a file of JSON lines, one event each, which several processes append to.

An event is a flat object. `t` is the time in seconds on the machine's monotonic clock, `what` the kind of the event, `world`
the hub that it belongs to. checker.py lists the kinds that the invariants read.
"""

import json
import os
import time


class History:
    """Appends events to a file; each event is one write, so that lines of several processes do not mix."""

    def __init__(self, path, world=""):
        self.path, self.world = path, world
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def of(self, world):
        """The same history for the events of another world."""
        return History(self.path, world)

    def note(self, what, **members):
        """Appends an event, and returns its time in seconds."""
        now = time.monotonic()
        event = {"t": round(now, 4), "what": what, "world": self.world, **members}
        os.write(self.file, (json.dumps(event, separators=(",", ":")) + "\n").encode())
        return now


def read(path):
    """The events of a file, in the order of their times."""
    with open(path) as lines:
        return sorted((json.loads(line) for line in lines), key=lambda event: event["t"])
