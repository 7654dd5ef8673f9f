"""The plan of the subject `prompts`: what happens to two prompt folders, from one seed.

Everything random is decided here, as in questions_plan.py.
"""

import itertools
import random

# Folders of the first root, and the files of each.
FOLDERS, FILES = 50, 200

# Files of one branch of the second root, which is a Git repository.
BRANCH_FILES = 60

# What happens in one step: a file is written, removed or renamed; a folder is removed or renamed; many folders are removed one
# after the other, or all that are gone are written again; a root is replaced; another branch is checked out; the server
# stands still while so many files change that the kernel drops events.
STEPS = (
    "write", "write", "write", "remove", "rename", "rename folder", "rename folder", "remove folder", "remove folders", "write folders",
    "write folders", "replace root", "checkout", "checkout", "checkout", "overflow",
)


def steps(seed):
    """The steps, without an end: each with its kind, the number that names its texts, and a source of its own choices."""
    dice = random.Random(f"{seed}/prompts")
    for number in itertools.count(1):
        yield {"number": number, "kind": dice.choice(STEPS), "dice": random.Random(dice.random())}
