"""What a build costs: a clean clone, and a change of one file of a domain. Prints one JSON object; scripts/bench calls it.

build.py [BASE]

Everything is built from clones of the last commit, in target folders of their own below a temporary folder; packages
are downloaded before the clock starts. With BASE, a revision, a clean build of that revision is measured first, so that
both are measured on one machine within one run. CPU time is user and system time of cargo and all its children.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from probe import Missed

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = "prompts"
FILE = f"crates/{DOMAIN}/src/expand.rs"
# A dependency that takes more than this share of all crates' build time is named.
SHARE = 0.02


def clone(folder, revision):
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", revision], cwd=folder, check=True)
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=folder, check=True)


def timed(folder, *command):
    """Runs cargo in a clone; returns seconds of wall time and of CPU time."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ended = subprocess.run(["cargo", *command], cwd=folder, env=environment, capture_output=True, text=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        raise Missed(f"cargo {' '.join(command)} failed: {ended.stderr[-400:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(wall, 1), "cpu": round(cpu, 1)}


def units(folder):
    """Returns each crate's seconds of build time, from the report of `cargo build --timings`."""
    report = (folder / "target/cargo-timings/cargo-timing.html").read_text()
    data = json.loads(re.search(r"const UNIT_DATA = (\[.*?\]);\n", report, re.S)[1])
    seconds = {}
    for unit in data:
        seconds[unit["name"]] = seconds.get(unit["name"], 0) + unit["duration"]
    return seconds


def touched(folder, *command):
    """Returns what cargo takes after one file of a domain has a new line, with everything else built."""
    timed(folder, *command)
    file = folder / FILE
    file.write_text(file.read_text() + "// Another line.\n")
    return timed(folder, *command)


def measure(base):
    figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if base:
            clone(scratch / "base", base)
            figures["base"] = timed(scratch / "base", "build", "--release", "--locked", "--timings")
            file = scratch / "base/src/lib.rs"
            file.write_text(file.read_text() + "// Another line.\n")
            figures["base_touched"] = timed(scratch / "base", "build", "--release", "--locked")
        folder = scratch / "new"
        clone(folder, "HEAD")
        figures["clean"] = timed(folder, "build", "--release", "--locked", "--timings")
        seconds = units(folder)
        total = sum(seconds.values())
        costly = sorted(((s / total, name) for name, s in seconds.items()), reverse=True)
        figures["costly"] = {name: round(share, 3) for share, name in costly if share > SHARE}
        figures["crates"] = len(seconds)
        figures["release"] = touched(folder, "build", "--release", "--locked")
        figures["check"] = touched(folder, "check", "--locked", "-p", f"adjutant-{DOMAIN}")
        figures["test"] = touched(folder, "nextest", "run", "--locked", "-p", f"adjutant-{DOMAIN}")
    return figures


if __name__ == "__main__":
    try:
        print(json.dumps(measure(sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else None)))
    except Missed as why:
        print(json.dumps({"failed": str(why)}))
        sys.exit(1)
