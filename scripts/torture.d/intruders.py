"""Intruders: the ways in which an agent tries to answer for the user, or to read what another agent was answered."""

import json
import socket
import subprocess
import time

import messages
import processes
from http_link import Events, Gone, Link, ask

# What no scripted user ever answers.
VALUE = "intruder"


def attack(place, way):
    """Tries a way, and notes whether it was held. Nothing is noted when there is nothing to attack."""
    ticket = place.dice.choice(place.tickets[-20:]) if place.tickets else None
    held = WAYS[way](place, ticket)
    if held is not None:
        place.history.note("attack", way=way, held=bool(held), ticket=ticket)


def run(place, arguments, typed=""):
    """Runs a command as a child of the agents, to its end; returns its exit code and its output."""
    child = processes.start(
        [place.adjutant, *arguments], place.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        output, _ = child.communicate(typed, 20.0)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise TimeoutError(" ".join(arguments)) from None
    return child.returncode, output


def inbox(place, ticket):
    _, output = run(place, ["inbox", "--plain", "--no-start"], f"{(ticket or 'q')[:7]} ={VALUE}\nq {VALUE}\n")
    return "DONE" not in output


def open_console(place, _):
    code, output = run(place, ["open", "--print"])
    return code != 0 and "/login/" not in output


def control_socket(place, ticket):
    if not ticket:
        return None
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10.0)
        link.connect(str(place.home / ".adjutant/hub.sock"))
        lines = link.makefile("rwb")
        act = {"ticket": ticket, "answer": [["answer", {"text": VALUE}]], "note": None, "passphrase": None}
        for said in ({"adjutant": "0", "hello": 1, "user": True}, {"questions": {"answer": act}}):
            try:
                lines.write(json.dumps(said).encode() + b"\n")
                lines.flush()
            except OSError:
                return True
            if b"decided" in (heard := lines.readline()):
                return False
            if not heard:
                return True
    return True


def console(place, ticket):
    if not ticket:
        return None
    form = {"content-type": "application/x-www-form-urlencoded", "authorization": f"Bearer {place.token}"}
    status, _, _ = ask(place.address(), "POST", f"/questions/{ticket}", form, f"csrf={'0' * 64}&made=0&act=answer&f0={VALUE}")
    return status in (401, 403)


def foreign_ticket(place, ticket):
    if not ticket:
        return None
    folder = place.home / "w" / VALUE
    folder.mkdir(exist_ok=True)
    call = messages.tool("1", "await_answer", {"ticket": ticket, "seconds": 1}, True)
    child = processes.start([place.adjutant, "connect", "questions"], place.home, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=place.log)
    try:
        output, _ = child.communicate(json.dumps(call).encode() + b"\n", 30.0)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise TimeoutError("a foreign ticket") from None
    return refused(output.decode())


def refused(text):
    """Whether a response is an error and holds no answer."""
    found = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if '"jsonrpc"' in line]
    found = [message for message in found if message.get("id") == "1"]
    return bool(found) and all(messages.status(message)[0] == "error" and not messages.answers(message) for message in found)


def stateless(place, ticket):
    if not ticket:
        return None
    call = messages.tool("1", "await_answer", {"ticket": ticket, "seconds": 1}, True)
    names = {"mcp-protocol-version": messages.MODERN, "mcp-method": "tools/call", "mcp-name": "await_answer"}
    victim = place.dice.choice([asker["name"] for asker in place.world["askers"]])
    status, _, text = ask(place.address(), "POST", f"/mcp?client={victim}", credentials(place) | names, call)
    return status != 200 or refused(text)


def credentials(place):
    return {"authorization": f"Bearer {place.intruder}", "accept": "application/json, text/event-stream"}


def session(place, _):
    if not place.sessions:
        return None
    headers = credentials(place) | {"mcp-session-id": place.dice.choice(place.sessions[-4:])}
    status, _, _ = ask(place.address(), "POST", "/mcp", headers, messages.tool("1", "list_prompts", {}))
    return status == 404


def stream(place, _):
    askers = [asker["name"] for asker in place.world["askers"] if asker["kind"] == "post"]
    if not askers:
        return None
    headers = credentials(place) | {"accept": "text/event-stream", "last-event-id": "0"}
    link = Link(place.address(), "GET", f"/mcp?client={place.dice.choice(askers)}", headers)
    end, events = time.monotonic() + 0.5, Events(link)
    try:
        while event := events.next(max(0.0, end - time.monotonic())):
            if event[1]:
                return False
    except TimeoutError:
        pass
    finally:
        link.close()
    return True


def without_token(place, _):
    status, _, _ = ask(place.address(), "POST", "/mcp", {"accept": credentials(place)["accept"]}, messages.tool("1", "list_prompts", {}))
    return status == 401


WAYS = {
    "inbox": inbox, "open": open_console, "socket": control_socket, "console": console, "ticket": foreign_ticket,
    "stateless": stateless, "session": session, "stream": stream, "without-token": without_token,
}
