"""A Python client as a user of Adjutant's prompts: prints what it got as one JSON object.

    python_client.py LIBRARY MODE stdio COMMAND ARGUMENT...
    python_client.py LIBRARY MODE http URL TOKEN

LIBRARY is mcp (the official SDK) or fastmcp. MODE is the connect mode of both: legacy, auto, or a modern revision.
"""

import asyncio
import json
import sys


def official(mode, kind, arguments):
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if kind == "stdio":
        server = StdioServerParameters(command=arguments[0], args=arguments[1:])
    else:
        url, token = arguments
        server = streamable_http_client(
            url, http_client=create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
        )
    return Client(server, mode=mode, read_timeout_seconds=20)


def fast(mode, kind, arguments):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if kind == "stdio":
        server = StdioTransport(arguments[0], arguments[1:], keep_alive=False)
    else:
        server = StreamableHttpTransport(arguments[0], auth=arguments[1])
    return Client(server, mode=mode, timeout=20)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(library, mode, kind, *arguments):
    connect = {"mcp": official, "fastmcp": fast}[library]
    async with connect(mode, kind, list(arguments)) as client:
        # fastmcp has the results of the protocol under these names, and its own under those of the SDK.
        suffix = "_mcp" if library == "fastmcp" else ""

        def request(name, *values):
            return getattr(client, name + suffix)(*values)

        tools = await request("list_tools")
        listed = await request("call_tool", "list_prompts", {})
        expanded = await request("call_tool", "expand_prompt", {"command": "research", "input": "tides"})
        unknown = await request("call_tool", "expand_prompt", {"command": "reserch", "input": ""})
        prompts = await request("list_prompts")
        prompt = await request("get_prompt", "research", {"input": "tides"})
        report = {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "listed": plain(listed),
            "expanded": plain(expanded),
            "unknown": plain(unknown),
            "prompts": [prompt.name for prompt in prompts.prompts],
            "prompt": plain(prompt),
        }
    # Printed after the connection has closed in order: an orderly end is part of the test.
    print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
