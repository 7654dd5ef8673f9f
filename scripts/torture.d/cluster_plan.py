"""The plan of the subject `cluster`: which tasks the hubs get, and when which process is hurt, from one seed.

Everything random is decided here, as in questions_plan.py.
"""

import random

from questions_plan import moments

HUBS = ("a", "b")
WORKERS = ("one", "two", "three")

# What the runner does, by how its run ends if nobody interferes.
MODES = {"ok": "succeeded", "touch": "succeeded", "slow": "succeeded", "fail": "failed"}

# Targets of faults with the ways in which each is hurt. `lose` deletes everything that the NATS server has kept.
FAULTS = {
    "worker": ("kill", "kill", "stop", "stop", "term"),
    "hub": ("kill", "kill", "stop", "term"),
    "nats": ("kill", "stop", "lose", "lose"),
}


def make(seed, seconds):
    """The plan of a run of so many seconds."""
    dice = random.Random(f"{seed}/cluster")
    faults = []
    for target, every in (("worker", 3.0), ("hub", 6.0), ("nats", 7.0)):
        names = {"worker": WORKERS, "hub": HUBS, "nats": ("nats",)}[target]
        faults += [
            {
                "at": at, "target": target, "name": dice.choice(names), "kind": dice.choice(FAULTS[target]),
                # Longer than a worker may be silent, or shorter.
                "seconds": round(dice.choice((dice.uniform(0.1, 1.5), dice.uniform(4.0, 6.0))), 2),
            }
            for at in moments(dice, seconds, every)
        ]
    return {"seed": seed, "faults": sorted(faults, key=lambda fault: fault["at"])}


def task(seed, hub, number):
    """The task with this number of a hub."""
    dice = random.Random(f"{seed}/{hub}/{number}")
    # The folder `s` has a submodule, so nothing of it may run anywhere. Its tasks wait for a refusal that a log names.
    folder = "s" if dice.random() < 0.1 else "w"
    return {
        "key": f"{hub}-{number}",
        "mode": dice.choice(list(MODES)),
        "folder": folder,
        "seconds": round(dice.uniform(0.1, 2.0), 2),
        "cancel": folder == "w" and dice.random() < 0.15,
        "pause": round(dice.uniform(0.0, 0.6), 2),
    }
