"""The process of the agents of one world: all askers and intruders run here, in a separate session.

agents.py PLAN    PLAN is a file with the world, the home and the time at which the run began

It ends when a line comes on stdin, or stdin ends, and every asker has the answer to its last question.
"""

import json
import os
import random
import sys
import threading
import time
from pathlib import Path

import askers
import intruders
import processes
from history import History


class Place:
    """What the askers of a world share."""

    def __init__(self, given):
        self.world, self.home = given["world"], Path(given["home"])
        self.adjutant, self.began = given["adjutant"], given["began"]
        self.token, self.intruder = given["token"], given["intruder"]
        self.alone = given["alone"]
        self.history = History(given["history"], self.world["name"])
        self.log = os.open(given["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.dice = random.Random(str(self.world["seed"]))
        self.draining, self.tickets, self.sessions = threading.Event(), [], []

    def address(self):
        """Where the hub listens, as `HOST:PORT`."""
        if self.alone:
            return self.alone
        entry = processes.hub(self.home)
        if not entry or not entry["http"]:
            raise askers.Gone("no hub runs")
        return entry["http"]

    def count(self):
        """Counts an answered question."""
        self.history.note("asker_done")

    def pause_until(self, at):
        """Waits until so many seconds after the run began; False when the run ends before."""
        return not self.draining.wait(max(0.0, self.began + at - time.monotonic()))


def hurt_relays(place, by_name):
    """Carries out the planned faults of relays."""
    for fault in place.world["faults"]:
        if "asker" not in fault:
            continue
        if not place.pause_until(fault["at"]):
            return
        by_name[fault["asker"]].hurt(fault["kind"], fault["seconds"])


def attack(place):
    """Carries out the planned attacks."""
    for planned in place.world["attacks"]:
        if not place.pause_until(planned["at"]):
            return
        try:
            intruders.attack(place, planned["way"])
        except (askers.Gone, OSError, TimeoutError, ValueError) as error:
            place.history.note("attack_failed", way=planned["way"], reason=repr(error))


def main():
    place = Place(json.loads(Path(sys.argv[1]).read_text()))
    made = [askers.make(place, plan) for plan in place.world["askers"]]
    by_name = {asker.name: asker for asker in made}
    running = [threading.Thread(target=asker.run, daemon=True) for asker in made]
    others = [threading.Thread(target=hurt_relays, args=(place, by_name), daemon=True), threading.Thread(target=attack, args=(place,), daemon=True)]
    for thread in running + others:
        thread.start()
    sys.stdin.readline()
    place.draining.set()
    for thread in others:
        thread.join(10.0)
    while any(thread.is_alive() for thread in running):
        if place.alone and not running[0].is_alive():
            # The other askers need the process, which may have been killed after its asker ended.
            made[0].ensure()
        time.sleep(0.05)
    for asker in made:
        asker.close()


if __name__ == "__main__":
    main()
