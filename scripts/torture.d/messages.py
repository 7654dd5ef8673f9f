"""The requests of an asker as JSON-RPC messages, and the answers of the user in what comes back."""

import json

CLIENT = {"name": "torture", "version": "1"}
MODERN = "2026-07-28"


def meta(tasks=False):
    """The `_meta` of a request without a session."""
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}} if tasks else {}
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def initialize(call, revision):
    """The first request of a handshake."""
    return request(call, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT})


def request(call, method, params):
    """A request; the members have the order of the contract's example."""
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": call}


def arguments(asked, folder):
    """The params of `triggerPopup` for a question of the plan."""
    params = {"workspacePath": str(folder), "title": asked["title"], "message": "Shall it go on?"}
    return params | ({"options": asked["options"]} if asked["options"] else {})


def tool(call, name, given, modern=False, progress=False, tasks=False):
    """A call of a tool."""
    params = {"name": name, "arguments": given}
    known = meta(tasks) if modern else {}
    if progress:
        known["progressToken"] = call
    if known:
        params["_meta"] = known
    return request(call, "tools/call", params)


def parts(message):
    """The objects in a response that may hold an answer: its result, and what the result holds as text or structure."""
    result = message.get("result")
    if not isinstance(result, dict):
        return
    yield result
    inner = result.get("result") if isinstance(result.get("result"), dict) else result
    if isinstance(inner.get("structuredContent"), dict):
        yield inner["structuredContent"]
    for block in inner.get("content") or []:
        text = block.get("text", "")
        earlier = text.startswith("The user has answered what you asked earlier: ")
        try:
            value = json.loads(text.partition(": ")[2] if earlier else text)
        except ValueError:
            continue
        if isinstance(value, (dict, list)):
            yield {"earlier_answers": value} if earlier else value


def answers(message):
    """The answers of the user in a response, as (title, value, ticket); the title is None for the question of the call."""
    found = []
    for part in parts(message):
        if isinstance(part.get("selectedValue"), str):
            found.append((None, part["selectedValue"], part.get("ticket")))
        for earlier in part.get("earlier_answers", []):
            if isinstance(earlier.get("selectedValue"), str):
                found.append((earlier["title"], earlier["selectedValue"], earlier.get("ticket")))
    return list(dict.fromkeys(found))


def status(message):
    """What a response says about its question: its status (None for another response) and the ticket."""
    if "error" in message or message.get("result", {}).get("isError"):
        return "error", None
    for part in parts(message):
        if "status" in part and "ticket" in part:
            return part["status"], part["ticket"]
        if "taskId" in part:
            return part.get("status", "working"), part["taskId"]
    return None, None
