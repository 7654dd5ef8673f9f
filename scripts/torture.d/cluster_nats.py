"""The NATS server of the subject `cluster`, and a client that sends messages of workers again."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import processes

ROOT = Path(__file__).resolve().parents[2]

# Messages that are kept to be sent again.
MAX_KEPT = 400


def program():
    """The server that `scripts/test` installs."""
    cache = Path(os.environ.get("ADJUTANT_TEST_CACHE", ROOT / ".cache"))
    found = cache / "python/bin/nats-server"
    if not found.exists():
        raise SystemExit(f"{found} is missing: run ./scripts/test once")
    return str(found)


class Server:
    """A server at one address, with its data in a folder."""

    def __init__(self, folder, log):
        self.folder, self.log, self.process = folder, log, None
        self.folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"

    def start(self):
        """Starts the server."""
        command = [program(), "-a", "127.0.0.1", "-p", str(self.port), "--jetstream", "--store_dir", str(self.folder / "data")]
        self.process = processes.start(command, self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def hurt(self, fault):
        """Kills the server, stops it for a while, or deletes its data, and starts it again."""
        if fault["kind"] == "stop":
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(fault["seconds"])
            self.process.send_signal(signal.SIGCONT)
            return
        self.end()
        time.sleep(min(fault["seconds"], 2.0))
        if fault["kind"] == "lose":
            shutil.rmtree(self.folder / "data", ignore_errors=True)
        self.start()

    def end(self):
        """Ends the server at once."""
        if self.process:
            self.process.kill()
            self.process.wait()


class Replayer:
    """Keeps requests of workers to hubs, and sends some of them again, late and in another order."""

    def __init__(self, seed, port, history, draining):
        self.dice = random.Random(f"{seed}/replay")
        self.port, self.history, self.draining = port, history, draining
        self.kept = []

    def run(self):
        """Replays until the end of the run, over as many connections as that takes."""
        while not self.draining.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 2.0) as connection:
                    self.replay(connection)
            except OSError:
                time.sleep(0.2)

    def replay(self, connection):
        """Replays over one connection until it fails."""
        connection.settimeout(0.5)
        reader = connection.makefile("rb")
        options = json.dumps({"verbose": False, "pedantic": False, "lang": "torture", "version": "1", "protocol": 1})
        connection.sendall(f"CONNECT {options}\r\nSUB adj.*.hub.* 1\r\nPING\r\n".encode())
        sender = threading.Thread(target=self.send, args=(connection,), daemon=True)
        sender.start()
        while not self.draining.is_set():
            try:
                line = reader.readline()
            except TimeoutError:
                # A buffered reader cannot go on after it.
                reader = connection.makefile("rb")
                continue
            if not line:
                raise OSError("closed")
            words = line.split()
            if words[:1] == [b"PING"]:
                connection.sendall(b"PONG\r\n")
            elif words[:1] == [b"MSG"]:
                payload = reader.read(int(words[-1]) + 2)[:-2]
                # A replayed message is a message too.
                if words[3] != b"_INBOX.replay.1" and len(payload) < 100_000:
                    self.kept.append((words[1], payload))
                    del self.kept[:-MAX_KEPT]

    def send(self, connection):
        """Sends kept messages again until the connection fails."""
        count = 0
        try:
            while not self.draining.wait(self.dice.uniform(0.02, 0.3)):
                if self.kept:
                    subject, payload = self.dice.choice(self.kept)
                    connection.sendall(b"PUB %s _INBOX.replay.1 %d\r\n%s\r\n" % (subject, len(payload), payload))
                    count += 1
        except OSError:
            pass
        self.history.note("replayed", count=count)
