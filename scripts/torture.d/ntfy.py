"""A server that speaks as much of ntfy as the hub uses, on loopback: a phone that shows notices and presses buttons."""

import http.server
import json
import queue
import threading
import urllib.parse


class Ntfy:
    """The server."""

    def __init__(self):
        self.notices, self.lock = queue.Queue(), threading.Lock()
        self.listeners, self.number = [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/":
                    outer.notices.put(json.loads(body))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def do_GET(self):
                self.send_response(200)
                self.send_header("content-type", "application/x-ndjson")
                self.end_headers()
                self.wfile.write(b'{"id":"o1","event":"open"}\n')
                self.wfile.flush()
                self.close_connection = True
                lines = queue.Queue()
                with outer.lock:
                    outer.listeners.append(lines)
                try:
                    while line := lines.get():
                        self.wfile.write(line)
                        self.wfile.flush()
                except OSError:
                    pass
                with outer.lock:
                    outer.listeners.remove(lines)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def notice(self, seconds):
        """The next notice; None when none comes."""
        try:
            return self.notices.get(timeout=seconds)
        except queue.Empty:
            return None

    def press(self, action):
        """Presses a button: its body goes to everybody who reads its topic."""
        self.number += 1
        topic = urllib.parse.urlparse(action["url"]).path.strip("/")
        line = json.dumps({"id": f"m{self.number}", "event": "message", "topic": topic, "message": action["body"]})
        with self.lock:
            for lines in self.listeners:
                lines.put(line.encode() + b"\n")

    def close(self):
        """Ends the server."""
        with self.lock:
            for lines in self.listeners:
                lines.put(b"")
        self.server.shutdown()
        self.server.server_close()
