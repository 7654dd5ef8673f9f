"""The subject `questions`: worlds with askers, a scripted user, faults and intruders."""

import time

import checker
import history
import questions_plan
from world import World


def run(seed, seconds, limit, adjutant, folder):
    """Runs for so many seconds, or until `limit` questions are answered. Returns the figures and what is broken.

    `folder` is an empty folder for everything that the run leaves; `limit` may be None.
    """
    recorded = history.History(folder / "history.jsonl")
    worlds = [World(plan, folder, adjutant, recorded) for plan in questions_plan.make(seed, seconds)]
    began = time.monotonic()
    try:
        for world in worlds:
            world.start(began)
        count = 0
        with open(recorded.path, "rb") as lines:
            while time.monotonic() < began + seconds and not (limit and count >= limit):
                time.sleep(0.5)
                count += lines.read().count(b'"asker_done"')
    finally:
        took = time.monotonic() - began
        for world in worlds:
            world.drain()
        for world in worlds:
            world.end()
            world.clean()
    events = history.read(recorded.path)
    broken = checker.check(events)
    figures = checker.summary(events, broken)
    figures["seconds"] = round(took)
    figures["questions a second"] = round(figures["questions"] / took, 1)
    return figures, broken

