// A bridge from Streamable HTTP to a server on stdin and stdout, so that the official suite, which knows HTTP alone, can
// be run against stdio. It adds nothing and hides nothing: lines go in and out as they are, but for the ids of requests,
// which are made unique because several clients share one pipe.
//
//   node stdio_bridge.mjs COMMAND [ARGUMENT...]     prints http://127.0.0.1:PORT/mcp and serves until its stdin ends
//
// `initialize` starts a process of its own for the session; what comes without a session goes to one that all share.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [command, ...rest] = process.argv.slice(2);

class Pipe {
  constructor() {
    this.child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = new Map();
    this.last = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => this.heard(JSON.parse(line)));
  }

  heard(message) {
    const id = message.method === undefined && this.waiting.get(message.id);
    if (id) {
      this.waiting.delete(message.id);
      id.done({ ...message, id: id.own });
      return;
    }
    // What the server says by itself goes to the request that it names by its token, else to all that wait.
    const token = message.params?.progressToken;
    const about = message.params?._meta?.["io.modelcontextprotocol/subscriptionId"];
    for (const [number, open] of this.waiting) {
      if (token !== undefined && open.token !== token) continue;
      if (about !== undefined && String(about) !== String(number)) continue;
      const meta = about === undefined ? message.params?._meta : { ...message.params._meta, "io.modelcontextprotocol/subscriptionId": open.own };
      open.tell(about === undefined ? message : { ...message, params: { ...message.params, _meta: meta } });
    }
  }

  say(message) {
    this.child.stdin.write(JSON.stringify(message) + "\n");
  }

  ask(message, done, tell) {
    const number = ++this.last;
    this.waiting.set(number, { own: message.id, token: message.params?._meta?.progressToken, done, tell });
    this.say({ ...message, id: number });
    return number;
  }
}

const sessions = new Map();
let shared;

const server = createServer((request, response) => {
  const session = request.headers["mcp-session-id"];
  if (request.method === "DELETE" && sessions.has(session)) {
    sessions.get(session).child.stdin.end();
    sessions.delete(session);
    return response.writeHead(200).end();
  }
  if (request.method !== "POST") return response.writeHead(405).end();
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    let message;
    try {
      message = JSON.parse(Buffer.concat(parts).toString());
    } catch {
      return response.writeHead(400).end();
    }
    const headers = {};
    let pipe = session === undefined ? (shared ??= new Pipe()) : sessions.get(session);
    if (!pipe) return response.writeHead(404).end();
    if (message.method === "initialize") {
      pipe = new Pipe();
      headers["mcp-session-id"] = randomUUID();
      sessions.set(headers["mcp-session-id"], pipe);
    }
    if (message.id === undefined || message.method === undefined) {
      pipe.say(message);
      return response.writeHead(202, headers).end();
    }
    const event = (what) => response.write(`event: message\ndata: ${JSON.stringify(what)}\n\n`);
    const stream = () => {
      if (!response.headersSent) response.writeHead(200, { ...headers, "content-type": "text/event-stream" });
    };
    const number = pipe.ask(
      message,
      (answer) => {
        if (response.headersSent) {
          event(answer);
          return response.end();
        }
        // What HTTP says by its status, over stdio stands in the code alone.
        const status = { "-32601": 404, "-32020": 400, "-32021": 400, "-32022": 400 }[answer.error?.code] ?? 200;
        const modern = message.params?._meta?.["io.modelcontextprotocol/protocolVersion"] !== undefined;
        response.writeHead(modern ? status : 200, { ...headers, "content-type": "application/json" });
        response.end(JSON.stringify(answer));
      },
      (told) => {
        stream();
        event(told);
      },
    );
    response.on("close", () => {
      if (pipe.waiting.delete(number)) pipe.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: number } });
    });
  });
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on("end", () => {
  shared?.child.stdin.end();
  for (const pipe of sessions.values()) pipe.child.stdin.end();
  process.exit(0);
});
