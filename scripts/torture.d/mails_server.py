"""A mail server on loopback that speaks SMTP, and fails in the ways in which mail servers do."""

import email
import random
import socket
import threading
import time

# Seconds of a pause of a slow server, and for which a connection may say nothing.
SLOW, IDLE_TIMEOUT = (0.3, 1.5), 120.0


class MailServer:
    """The server. `mode` is what it does now: one of `mails_plan.MODES`."""

    def __init__(self, seed, history):
        self.history, self.dice, self.mode = history, random.Random(f"{seed}/server"), "ok"
        self.lock, self.connections = threading.Lock(), set()
        self.listener, self.port = None, 0
        self.listen()

    def listen(self):
        """Accepts connections, at the port of the first time."""
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        """Serves the connections of a listener until it is closed."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.add(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def turn(self, mode):
        """Behaves by another mode from now on."""
        if mode == "refused":
            self.close()
        elif self.mode == "refused":
            self.listen()
        self.mode = mode
        self.history.note("mode", mode=mode, at=time.time())

    def close(self):
        """Ends the listener and all connections."""
        with self.lock:
            # A thread that waits for a socket would keep it open.
            for opened in [self.listener, *self.connections]:
                try:
                    opened.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it is closed already
        self.listener.close()

    def serve(self, connection):
        """Serves one connection to its end."""
        connection.settimeout(IDLE_TIMEOUT)
        try:
            with connection.makefile("rb") as lines:
                self.talk(connection, lines)
        except OSError:
            pass
        with self.lock:
            self.connections.discard(connection)
            connection.close()

    def talk(self, connection, lines):
        """Answers the commands of a connection."""
        def say(text):
            connection.sendall(text.encode() + b"\r\n")
        say("220 torture")
        while words := lines.readline().split():
            word = words[0].upper()
            if word == b"DATA":
                if self.mode == "cut before":
                    return
                say("354 go on")
                answer = self.take(lines)
                if not answer:
                    return
                say(answer)
            elif word == b"QUIT":
                return say("221 bye")
            elif word == b"RCPT" and self.mode == "greylist":
                say("451 4.7.1 try again later")
            else:
                say("250 8BITMIME" if word in (b"EHLO", b"HELO") else "250 ok")

    def take(self, lines):
        """Reads a mail, and returns the answer; None where the connection is cut."""
        text = b""
        while (line := lines.readline()) != b".\r\n":
            if not line:
                return None
            text += line
        found, mode = email.message_from_bytes(text), self.mode
        mail = {"mail": found["Message-ID"], "subject": found["Subject"]}
        if mode == "busy":
            self.history.note("refused", at=time.time(), **mail)
            return "451 4.3.0 too busy"
        if mode == "slow":
            time.sleep(self.dice.uniform(*SLOW))
        if mode != "cut after" or self.dice.random() < 0.5:
            self.history.note("taken", at=time.time(), **mail)
        if mode == "cut after":
            self.history.note("cut", at=time.time(), **mail)
            return None
        return "250 2.0.0 taken"
