"""Processes of a run: started with a temporary home, found by that home, and ended by their numbers."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path


def environment(home):
    """The environment of every program of a home, which no other hub and no desktop is found by."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(home), "LANG": "C.UTF-8", "TERM": "xterm-256color"}


def start(command, home, folder=None, **options):
    """Starts a program of a home. It ignores SIGXFSZ as Python does, so that a limit of its files is an error to it."""
    return subprocess.Popen(command, cwd=folder or home, env=environment(home), restore_signals=False, **options)


def hub(home):
    """The entry of the hub that runs in a home, with its `pid` and the address `http`; None without one."""
    try:
        entry = json.loads((Path(home) / ".adjutant/hub.lock").read_text())
    except (OSError, ValueError):
        return None
    return entry if belongs(entry["pid"], home) else None


def belongs(pid, home):
    """Whether the process lives and has this home."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"HOME={home}".encode() in variables and alive(pid)


def of_home(home):
    """The numbers of all processes that have this home."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and belongs(int(entry), home)]


def alive(pid):
    """Whether the process lives."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def with_argument(text):
    """The command lines of the processes that have a text in their arguments, each with its number."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(f"{entry} {line.strip()}")
    return found


def send(pid, number):
    """Sends a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def until(wanted, seconds, pause=0.02):
    """Waits for what `wanted` returns to be true; returns that, or None when the time is over."""
    end = time.monotonic() + seconds
    while True:
        if found := wanted():
            return found
        if time.monotonic() > end:
            return None
        time.sleep(pause)


def kill_after(process, seconds):
    """A timer that kills a process which has not answered in time; cancel it."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def hurt(program, kind, seconds):
    """Kills or terminates a program, or stops it for so many seconds; it has a method `signal`."""
    if kind == "stop":
        program.signal(signal.SIGSTOP)
        time.sleep(seconds)
        program.signal(signal.SIGCONT)
    else:
        program.signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM)


class Terminal:
    """A program in a new terminal, whose output `on_output` gets as bytes, on a thread."""

    def __init__(self, command, home, on_output, columns=200, rows=50):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(home)
                os.execve(command[0], command, environment(home))
            finally:
                os._exit(127)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.on_output, self.ended = on_output, threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        """Passes the output on until the program's end."""
        try:
            while part := os.read(self.file, 65536):
                self.on_output(part)
        except OSError:
            pass  # the other end is closed
        self.ended.set()

    def type(self, text):
        """Types; a program that has ended reads nothing."""
        try:
            if select.select([], [self.file], [], 2.0)[1]:
                os.write(self.file, text.encode())
        except OSError:
            self.ended.set()

    def close(self):
        """Ends the program and returns its exit status."""
        send(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.thread.join(2.0)
        os.close(self.file)
        return status


class Dialogue:
    """A short program in a terminal that is given answers to its prompts."""

    def __init__(self, command, home):
        self.text, self.changed = "", threading.Condition()
        self.terminal = Terminal(command, home, self.on_output)

    def on_output(self, part):
        with self.changed:
            self.text += part.decode(errors="replace")
            self.changed.notify_all()

    def answer(self, prompt, typed, seconds=20.0):
        """Waits for a prompt and types a line. Returns whether the prompt came."""
        if not self.shows(prompt, seconds):
            return False
        with self.changed:
            self.text = self.text.partition(prompt)[2]
        self.terminal.type(typed + "\r")
        return True

    def shows(self, wanted, seconds=20.0):
        """Whether the output holds a text within so many seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: wanted in self.text, seconds)

    def close(self):
        """Ends the program and returns what it wrote since the last prompt."""
        self.terminal.ended.wait(5.0)
        self.terminal.close()
        return self.text
