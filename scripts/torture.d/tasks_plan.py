"""The plan of the subject `tasks`: which clients delegate what to which agents, and when which process is hurt, from one seed.

Everything random is decided here, as in questions_plan.py.
"""

import random

from questions_plan import moments

# The interfaces of a client: a relay, which is started among the agents, HTTP, or the command line.
KINDS = ("contract", "relay", "relay", "stateless", "session", "line", "line") * 2

# The agents, with the lines of their files. A client may ask for less than the permission.
AGENTS = {
    "reader": "permission: read-only\n",
    "writer": "permission: workspace-write\n",
    "keeper": "permission: read-only\non_hub_exit: keep\n",
    "free": "permission: full\n",
    "checked": "permission: full\nchecks:\n  - [sh, -c, 'sleep 0.2']\n",
    "treed": "permission: workspace-write\nisolation: worktree\n",
    "equipped": "permission: workspace-write\nisolation: worktree\nsetup:\n  - [sh, -c, 'sleep 0.1']\n",
}
TREES = ("treed", "equipped")

# What the fake runner does, by how its run ends if nobody interferes: `None` by a limit or a cancellation only.
MODES = {
    "ok": "succeeded", "slow": "succeeded", "orphan": "succeeded", "daemon": "succeeded", "bomb": "succeeded",
    "flood": "succeeded", "touch": "succeeded", "loot": "succeeded",
    "fail": "failed", "crash": "failed", "stubborn": None, "hang": None, "stopped": None,
}

# How a client follows its task. `drops` leaves without the answer; `kills` and `interrupts` are for the command line.
WAYS = {
    "contract": ("waits", "waits", "waits", "drops", "cancels"),
    "relay": ("waits", "waits", "background", "background", "polls", "drops", "cancels", "background-cancel"),
    "stateless": ("waits", "background", "polls", "background-cancel"),
    "session": ("waits", "background", "polls", "background-cancel"),
    "line": ("waits", "waits", "background", "background-cancel", "kills", "interrupts"),
}

# Targets of faults with the ways in which each is hurt.
FAULTS = {
    "hub": ("kill", "kill", "kill", "kill", "term", "stop", "restart", "restart --cancel", "restart --wait", "end"),
    "supervisor": ("kill", "kill", "term", "stop"),
    "guard": ("kill", "term", "stop"),
    "runner": ("kill", "term", "stop"),
    "relay": ("kill", "kill", "term", "stop"),
    "disk": ("full",),
}


def make(seed, seconds):
    """The plan of a run of so many seconds."""
    dice = random.Random(f"{seed}/tasks")
    clients = [{"name": f"{kind[0]}{number}", "kind": kind, "number": number} for number, kind in enumerate(KINDS)]
    faults = []
    for target, every in (("hub", 4.0), ("supervisor", 3.0), ("guard", 3.0), ("runner", 4.0), ("relay", 5.0), ("disk", 12.0)):
        faults += [
            {"at": at, "target": target, "kind": dice.choice(FAULTS[target]), "seconds": round(dice.uniform(0.1, 1.5), 2)}
            for at in moments(dice, seconds, every)
        ]
    return {"seed": seed, "clients": clients, "faults": sorted(faults, key=lambda fault: fault["at"])}


def task(seed, client, number):
    """The task with this number of a client: its agent and mode, and how its client follows it."""
    dice = random.Random(f"{seed}/{client['name']}/{number}")
    mode = dice.choice(list(MODES))
    agent = dice.choice(list(AGENTS))
    if mode == "loot" and agent not in TREES:
        mode = "touch"
    return {
        "key": f"{client['name']}-{number}",
        # Digits after the point of the mark.
        "digits": f"{client['number']:02}{number:06}",
        "agent": agent,
        "mode": mode,
        "way": dice.choice(WAYS[client["kind"]]),
        "seconds": round(dice.uniform(0.1, 1.5), 2),
        # The contract has no argument for it, so the hub's own limit ends such a task.
        "timeout": None if client["kind"] == "contract" else dice.choice((2, 3, 4)) if MODES[mode] is None else 60,
        "patience": round(dice.uniform(0.05, 2.0), 2),
        "pause": round(dice.uniform(0.0, 0.4), 2),
    }


def mark(seed, pid, digits):
    """The number in the arguments of every process of a task: a time to sleep that nobody else sleeps."""
    return f"9{pid % 1_000_000:06}{seed % 1_000_000:06}.{digits}"


def text(seed, pid, asked):
    """The text of a task, as the fake runner reads it."""
    return f"{asked['key']} {asked['mode']} {mark(seed, pid, asked['digits'])} {asked['seconds']}"
