"""The plan of the subject `mails`: which events are imported, and when the mail server and the hub are hurt, from one seed.

Everything random is decided here, as in questions_plan.py.
"""

import random

from questions_plan import moments

# What the mail server does: takes mails; ends the connection before the text, or after it without an answer; wants every mail
# later, before or after the text; answers late; is not there.
MODES = ("ok", "cut before", "cut after", "greylist", "busy", "slow", "refused")

# The ways in which the hub is hurt.
FAULTS = ("kill", "kill", "kill", "term", "stop")


def make(seed, seconds):
    """The plan of a run of so many seconds."""
    dice = random.Random(f"{seed}/mails")
    faults = [{"at": at, "kind": dice.choice(FAULTS), "seconds": round(dice.uniform(0.1, 1.0), 2)} for at in moments(dice, seconds, 3.0)]
    # Healthy again after each, so that most mails arrive.
    modes = [{"at": at, "mode": dice.choice(MODES[1:]), "seconds": round(dice.uniform(0.5, 2.5), 2)} for at in moments(dice, seconds, 3.0)]
    return {"seed": seed, "faults": faults, "modes": modes}


def batch(seed, number):
    """The events of one import: each with its title, and the seconds after which its mail is due."""
    dice = random.Random(f"{seed}/mails/{number}")
    return [{"title": f"mail-{number}-{n}", "due": round(dice.uniform(1.0, 6.0), 1)} for n in range(dice.randint(1, 8))]
