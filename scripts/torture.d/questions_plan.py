"""The plan of the subject `questions`: which hubs, askers, faults and attacks there are, all from one seed.

Everything random is decided here. The questions of an asker are made one by one, each from the seed and its number, so
that a run may ask as many as it has time for.
"""

import random

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

# How an asker behaves that has a relay; the last two are for a handshake or a stateless request only.
RELAY_MODES = ("waits", "waits", "slow", "half", "half-kill", "polls", "polls", "again", "earlier", "cancels")

ATTACKS = ("inbox", "open", "socket", "console", "ticket", "stateless", "session", "stream", "without-token")


def make(seed, seconds):
    """The plan of a run of so many seconds: a list of worlds, each a hub with a separate home."""
    return [ticket_world(seed, seconds), phone_world(seed, seconds), alone_world(seed, seconds)]


def ticket_world(seed, seconds):
    """A hub with an approval passphrase, which three interfaces answer at once, and most of the askers."""
    dice = random.Random(f"{seed}/ticket")
    # Before the faults, whose number depends on the length of the run.
    undo = dice.choice((0, 0, 400))
    askers = [{"name": f"c{n}", "kind": "contract"} for n in range(4)]
    askers += [{"name": f"r{n}", "kind": "relay", "revision": REVISIONS[n % len(REVISIONS)]} for n in range(10)]
    askers += [{"name": f"p{n}", "kind": "popup"} for n in range(2)]
    askers += [{"name": f"s{n}", "kind": "session", "revision": REVISIONS[1 + n % 3]} for n in range(4)]
    askers += [{"name": f"n{n}", "kind": "stateless", "tasks": n == 0} for n in range(3)]
    askers += [{"name": f"h{n}", "kind": "post"} for n in range(4)]
    relays = [asker["name"] for asker in askers if asker["kind"] in ("contract", "relay", "popup")]
    faults = hub_faults(dice, seconds, ("kill", "kill", "term", "stop", "stop", "disk"), 10.0)
    faults += relay_faults(dice, seconds, relays, 1.2)
    attacks = [{"at": at, "way": dice.choice(ATTACKS)} for at in moments(dice, seconds, 2.5)]
    return {
        "name": "ticket", "passphrase": "correct horse battery", "channels": ["lines", "browser", "terminal"],
        "undo": undo, "askers": askers, "faults": faults, "attacks": attacks, "seed": seed,
    }


def phone_world(seed, seconds):
    """A hub without a passphrase, whose questions ring a phone one by one; the browser answers what does not ring."""
    dice = random.Random(f"{seed}/phone")
    askers = [{"name": "f0", "kind": "relay", "revision": "2025-11-25"}, {"name": "f1", "kind": "contract"}, {"name": "f2", "kind": "post"}]
    faults = hub_faults(dice, seconds, ("kill", "term", "stop"), 15.0) + relay_faults(dice, seconds, ["f0", "f1"], 6.0)
    attacks = [{"at": at, "way": dice.choice(ATTACKS)} for at in moments(dice, seconds, 12.0)]
    return {
        "name": "phone", "passphrase": None, "channels": ["phone"], "undo": 0,
        "askers": askers, "faults": faults, "attacks": attacks, "seed": seed,
    }


def alone_world(seed, seconds):
    """A process `adjutant mcp popup --http` instead of a hub, with one asker on its stdin and two over HTTP."""
    dice = random.Random(f"{seed}/alone")
    askers = [{"name": "a0", "kind": "contract"}, {"name": "a1", "kind": "post"}, {"name": "a2", "kind": "post"}]
    faults = relay_faults(dice, seconds, ["a0"], 12.0)
    return {
        "name": "alone", "passphrase": None, "channels": ["browser"], "undo": 0,
        "askers": askers, "faults": faults, "attacks": [], "seed": seed,
    }


def moments(dice, seconds, every):
    """Moments of a run, in seconds from its start, on average `every` so many seconds apart."""
    at, found = every / 2, []
    while at < seconds:
        found.append(round(at, 2))
        at += dice.uniform(0.5, 1.5) * every
    return found


def hub_faults(dice, seconds, kinds, every):
    """Faults of a hub: `seconds` is how long it is stopped, its disk full, or nobody starts the next one."""
    return [{"at": at, "kind": dice.choice(kinds), "seconds": round(dice.uniform(0.1, 2.0), 2)} for at in moments(dice, seconds, every)]


def relay_faults(dice, seconds, names, every):
    """Faults of the relays of these askers."""
    return [
        {"at": at, "asker": dice.choice(names), "kind": dice.choice(("kill", "kill", "term", "stop")), "seconds": round(dice.uniform(0.1, 1.5), 2)}
        for at in moments(dice, seconds, every)
    ]


def question(world, asker, number):
    """The question with this number of an asker: its words, and how its asker behaves meanwhile."""
    dice = random.Random(f"{world['seed']}/{world['name']}/{asker['name']}/{number}")
    name = f"{asker['name']}-{number}"
    twin = world["channels"] != ["phone"] and dice.random() < 0.25
    asked = {
        "number": number,
        "title": "Continue?" if twin else f"Deploy {name} {dice.getrandbits(32):08x}?",
        "mode": dice.choice(RELAY_MODES) if asker["kind"] != "contract" else dice.choice(RELAY_MODES[:5]),
        "pause": round(dice.uniform(0.0, 0.3), 2),
        "cuts": [round(dice.uniform(0.0, 1.2), 2) for _ in range(dice.choice((0, 0, 1, 1, 2)))],
        "resumes": dice.choice((True, True, False)),
        "waits": dice.random() < 0.3,
    }
    asked["options"] = None if twin else [{"label": f"{word} {value}", "value": value} for word, value in zip(("Yes", "No"), choices(asked["title"]))]
    return asked


def choices(title):
    """The two values that the question of this title can be answered with; none for a question that takes text."""
    words = title.rstrip("?").split()
    return [f"{answer}-{words[1]}-{words[2]}" for answer in ("y", "n")] if words[0] == "Deploy" else []


def habits(world, about):
    """How a question is answered: the interface that is first, whether a second one answers something else at the same
    time, and whether the first answer is undone where that is possible."""
    dice = random.Random(f"{world['seed']}/{about}")
    return {"channel": dice.choice(world["channels"]), "races": dice.random() < 0.1, "undoes": dice.random() < 0.25}
