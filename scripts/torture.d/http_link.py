"""A connection for one HTTP request, whose response is read as far as one wants, and which can be cut."""

import json
import socket
import struct
import time


class Gone(Exception):
    """The other side is not there, or ended the connection early."""


class Link:
    """A request on a new connection, in HTTP/1.0: the response ends with the connection."""

    def __init__(self, address, method, path, headers=(), body="", seconds=30.0):
        host, _, port = address.rpartition(":")
        self.buffer, self.open = b"", True
        text = f"{method} {path} HTTP/1.0\r\nhost: {address}\r\n"
        body = body if isinstance(body, str) else json.dumps(body)
        headers = dict(headers)
        if body:
            headers.setdefault("content-type", "application/json")
            headers["content-length"] = str(len(body.encode()))
        text += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n" + body
        try:
            self.socket = socket.create_connection((host, int(port)), seconds)
            self.socket.sendall(text.encode())
        except OSError as error:
            raise Gone(str(error)) from error
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.line(seconds)
            if line is None:
                raise Gone("the head of the response ended early")
            head += line
        lines = head.decode(errors="replace").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}

    def line(self, seconds):
        """The next line with its end; None at the end of the response. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.socket.settimeout(left)
            try:
                part = self.socket.recv(65536)
            except TimeoutError:
                raise
            except OSError:
                part = b""
            if not part:
                return None
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line + b"\n"

    def rest(self, seconds=30.0):
        """The rest of the response as text, and closes the connection."""
        text = b""
        try:
            while (line := self.line(seconds)) is not None:
                text += line
        except TimeoutError as error:
            raise Gone("the response does not end") from error
        finally:
            self.close()
        return (text + self.buffer).decode(errors="replace")

    def close(self):
        """Closes the connection."""
        self.open = False
        self.socket.close()

    def cut(self):
        """Breaks the connection off. Returns the lines that had arrived, and how long a byte may have come unread, in seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.setblocking(False)
        while True:
            since = time.monotonic()
            try:
                part = self.socket.recv(65536)
            except OSError:
                part = b""
            if not part:
                self.socket.close()
                break
            self.buffer += part
        self.open = False
        return self.buffer.split(b"\n"), time.monotonic() - since


def ask(address, method, path, headers=(), body="", seconds=30.0):
    """Sends a request; returns the status, the headers and the text of the response."""
    try:
        link = Link(address, method, path, headers, body, seconds)
    except TimeoutError as error:
        raise Gone("no response in time") from error
    return link.status, link.headers, link.rest(seconds)


class Events:
    """The events of a link, as (id, message): the JSON of its data, or None."""

    def __init__(self, link):
        self.link, self.id, self.data = link, None, None

    def next(self, seconds):
        """The next event; None at the end of the stream. Raises TimeoutError; what was read is kept."""
        while True:
            line = self.link.line(seconds)
            if line is None:
                return None
            if event := self.take(line):
                return event

    def take(self, line):
        """Takes a line in; returns the event that it ends."""
        name, _, value = line.strip().decode(errors="replace").partition(": ")
        if name == "id":
            self.id = value
        elif name == "data":
            self.data = value
        elif not name:
            event, self.data = (self.id, self.data), None
            if event[0] is not None or event[1] is not None:
                id, self.id = self.id, None
                return id, json.loads(event[1]) if event[1] else None
        return None
