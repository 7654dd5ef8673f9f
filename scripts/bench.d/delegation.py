"""The figures of delegation. Prints one JSON object; scripts/bench calls it.

delegation.py ADJUTANT             what a delegation adds to the runner's own time, without sandbox and with bubblewrap
delegation.py ADJUTANT PACKAGES    the rest; PACKAGES is the folder with the node_modules of scripts/test

Standard library only. Everything happens in a separate home and on loopback; every process started here is ended here,
by its own pid.
"""

import json
import os
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from probe import TIMEOUT, Missed, Peer, call, memory, milliseconds

AT_ONCE = 200
FLOOD = 300_000_000
RUNNERS = {
    "quick": "exec echo done",
    "sleeper": "echo up; exec sleep 600",
    "flood": f"head -c {FLOOD} /dev/zero | tr '\\0' x | fold -w 99; echo; echo end",
}


class Home:
    """A hub in a separate home, with one agent for each runner."""

    def __init__(self, adjutant, sandbox="none"):
        self.adjutant = adjutant
        self.path = Path(tempfile.mkdtemp())
        home = self.path / ".adjutant"
        for folder in (home / "agents", self.path / "work", self.path / "tmp", self.path / "bin"):
            folder.mkdir(parents=True)
        (home / "config.toml").write_text(
            f"[tasks]\nsandbox = \"{sandbox}\"\nmax_running = {AT_ONCE + 1}\nmax_running_per_runner = {AT_ONCE}\n"
            + "".join(
                f'[[runners]]\nname = "{name}"\ncommand = ["/bin/sh", "-c", {json.dumps(script)}, "{{prompt}}"]\nstdin = "empty"\n'
                f'final_message = "stdout"\nlevels = ["read-only"]\n'
                for name, script in RUNNERS.items()
            )
            + '[[runners]]\nname = "codex"\n[[runners]]\nname = "copilot"\n'
        )
        for name in (*RUNNERS, "codex", "copilot"):
            level = "full" if name == "copilot" else "read-only"
            text = f"persona: You work.\ndescription: Works\nrunner: {name}\npermission: {level}\n"
            (home / "agents" / f"{name}.yaml").write_text(text)
        self.environment = {
            "HOME": str(self.path), "TMPDIR": str(self.path / "tmp"), "LANG": "C.UTF-8",
            "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}",
        }
        self.hub = None

    def program(self, name, text):
        file = self.path / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def serve(self):
        self.hub = subprocess.Popen(
            [self.adjutant, "serve", "--http", "off"], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        wait_for("the hub's socket", (self.path / ".adjutant/hub.sock").exists)
        return self.spawn("connect", "agents", "--no-start")

    def spawn(self, *arguments):
        peer = Peer.spawn([self.adjutant, *arguments], env=self.environment)
        peer.greet()
        return peer

    def task(self, agent):
        return {"agent": agent, "task": "work", "working_directory": str(self.path / "work")}

    def remove(self):
        if self.hub:
            self.hub.kill()
            self.hub.wait()
            wait_for("the end of all runs", lambda: not of_home(self.path))
        shutil.rmtree(self.path, ignore_errors=True)


def wait_for(what, holds, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > end:
            raise Missed(f"{what}: not within {timeout} s")
        time.sleep(0.002)


def processes(matches):
    """The numbers of the processes whose command line or environment satisfies `matches`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if matches((folder / "environ").read_bytes()) or matches((folder / "cmdline").read_bytes()):
                    found.append(int(folder.name))
            except OSError:
                pass
    return found


def of_home(path):
    home = f"HOME={path}\0".encode()
    return processes(lambda text: home in text and b"ADJUTANT_RUN=" in text)


def result(peer, id, tool, **arguments):
    peer.send(call(id, tool, **arguments))
    answer = peer.answer(id)
    if "result" not in answer:
        raise Missed(json.dumps(answer)[:300])
    return answer["result"].get("structuredContent") or answer["result"]


def finished(peer, task):
    """Delegates, and waits for the end."""
    task_result = result(peer, 1, "delegate_task", **task)
    while task_result.get("status") in ("queued", "running"):
        task_result = result(peer, 1, "task_wait", task_id=task_result["task_id"], seconds=600)
    if task_result.get("status") != "succeeded":
        raise Missed(f"a task did not succeed: {json.dumps(task_result)[:300]}")
    return task_result


def overhead(home, peer):
    """A delegation against the bare command, in turns: no supervisor, no queue, no disk."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    argv = ["/bin/sh", "-c", RUNNERS["quick"]]
    bare, whole = [], []
    for _ in range(220):
        since = time.perf_counter()
        os.waitpid(os.posix_spawn(argv[0], argv, home.environment, file_actions=actions), 0)
        bare.append(milliseconds(since))
        since = time.perf_counter()
        finished(peer, home.task("quick"))
        whole.append(milliseconds(since))
    os.close(null)
    added = [a - b for a, b in zip(whole[20:], bare[20:])]
    return {
        "bare ms": statistics.median(bare[20:]), "delegated ms": statistics.median(whole[20:]),
        "overhead ms": statistics.median(added), "overhead p90 ms": statistics.quantiles(added, n=10)[-1], "runs": len(added),
    }


def sandboxed_overhead(home, peer):
    """The same in the hub's sandbox."""
    return {f"bubblewrap {figure}": value for figure, value in overhead(home, peer).items()}


def crowd(home, peer):
    """The hub's memory with many tasks under way while one floods, and how soon all have ended after it is killed."""
    before = memory(home.hub.pid)
    for id in range(4):
        many = {"tasks": [home.task("sleeper")] * (AT_ONCE // 4), "background": True}
        result(peer, id, "delegate_many", **many)
    running = lambda: result(peer, 9, "task_list", state="running", limit=1)["total"] == AT_ONCE
    wait_for("all tasks under way", running, 120)
    crowded = memory(home.hub.pid)
    since = time.perf_counter()
    flooded = finished(peer, home.task("flood"))
    took = milliseconds(since)
    if not flooded["message"].endswith("end"):
        raise Missed("the end of the flood is not in the answer")
    peak = memory(home.hub.pid, "VmHWM")
    if not running():
        raise Missed("tasks ended while the flood was on")
    since = time.perf_counter()
    home.hub.send_signal(signal.SIGKILL)
    wait_for("the end of all runs", lambda: not of_home(home.path))
    killed = milliseconds(since)
    return {
        "idle MB": before, "crowded MB": crowded, "peak MB": peak, "at once": AT_ONCE,
        "flood MB": FLOOD // 1_000_000, "flood ms": took, "killed hub, all gone ms": killed,
    }


class Script(BaseHTTPRequestHandler):
    """A model that makes the client's shell run `server.command`."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        command = self.server.command
        if self.path.endswith("/responses"):
            arguments = json.dumps({"cmd": command, "command": command, "yield_time_ms": 30_000})
            tools = [tool.get("name") for tool in body["tools"]]
            name = next(tool for tool in ("exec_command", "shell_command") if tool in tools)
            item = {"type": "function_call", "id": "f", "call_id": "c", "status": "completed", "name": name,
                    "arguments": arguments}
            response = {"id": "r", "object": "response", "created_at": 0, "model": "stub", "status": "completed",
                        "output": [item], "usage": None}
            events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
                      {"type": "response.output_item.done", "output_index": 0, "item": item},
                      {"type": "response.completed", "response": response}]
            kind, text = "text/event-stream", "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        else:
            function = {"name": "bash", "arguments": json.dumps({"command": command, "description": "wait"})}
            calls = [{"index": 0, "id": "c", "type": "function", "function": function}]
            choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": calls},
                      "finish_reason": "tool_calls"}
            kind, text = "application/json", json.dumps(
                {"id": "c", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]})
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


def cancels(home, peer, packages, rounds=8):
    """Cancel to "no process left", while the real runner's shell has two commands under way."""
    modules = Path(packages, "node_modules")
    node = next(modules.glob("node-linux-*/bin/node"), "node")
    model = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{model.server_port}/v1"
    (home.path / ".codex").mkdir()
    (home.path / ".codex/config.toml").write_text(
        f'model = "stub"\nmodel_provider = "stub"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
        f'[features]\napps = false\nplugins = false\nremote_models = false\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{base}"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n')
    home.program("codex", f'#!/bin/sh\nexec {node} {modules}/@openai/codex/bin/codex.js "$@"\n')
    home.program("copilot", f'#!/bin/sh\nexport COPILOT_OFFLINE=true COPILOT_PROVIDER_BASE_URL={base} COPILOT_MODEL=stub\n'
                            f'exec {node} {modules}/@github/copilot/npm-loader.js "$@"\n')
    figures = {}
    for runner in ("codex", "copilot"):
        took, left = [], 0
        for round in range(rounds):
            word = f"5{round}0.{os.getpid()}"
            model.command = f"sleep {word} & sleep {word}"
            sleeps = lambda: processes(lambda text: b"sleep\0" + word.encode() in text)
            id = result(peer, 1, "delegate_task", **home.task(runner), background=True)["task_id"]
            wait_for("the agent's commands", lambda: len(sleeps()) >= 2, 60)
            since = time.perf_counter()
            ended = result(peer, 2, "task_cancel", task_id=id)
            if ended["status"] != "cancelled":
                raise Missed(f"{runner}: {json.dumps(ended)[:300]}")
            survivors = sleeps()
            left += len(survivors) + ended["run_report"]["processes_left"]
            wait_for("the end of the run", lambda: not sleeps())
            took.append(milliseconds(since))
        figures |= {f"{runner} cancel ms": statistics.median(took), f"{runner} cancel max ms": max(took),
                 f"{runner} left": left, "rounds": rounds}
    model.shutdown()
    return figures


def main():
    adjutant, *packages = sys.argv[1:]
    if packages:
        measures = [(lambda home, peer: cancels(home, peer, packages[0]), "none"), (crowd, "none")]
    else:
        measures = [(overhead, "none")] + ([(sandboxed_overhead, "bubblewrap")] if shutil.which("bwrap") else [])
    figures = {}
    try:
        for measure, sandbox in measures:
            home = Home(adjutant, sandbox)
            try:
                figures |= measure(home, home.serve())
            finally:
                home.remove()
    except (Missed, OSError, KeyError, ValueError, StopIteration) as why:
        figures["failed"] = f"{type(why).__name__}: {why}"
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
