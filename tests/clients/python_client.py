"""The official Python SDK as a user of Adjutant's prompts: prints what it got as one JSON object.

    python_client.py MODE stdio COMMAND ARGUMENT...
    python_client.py MODE http URL TOKEN

MODE is the SDK's connect mode: legacy, auto, or a modern revision.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def server(kind, arguments):
    if kind == "stdio":
        return StdioServerParameters(command=arguments[0], args=arguments[1:])
    url, token = arguments
    return streamable_http_client(
        url, http_client=create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    )


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(mode, kind, *arguments):
    async with Client(server(kind, list(arguments)), mode=mode, read_timeout_seconds=20) as client:
        tools = await client.list_tools()
        listed = await client.call_tool("list_prompts", {})
        expanded = await client.call_tool("expand_prompt", {"command": "research", "input": "tides"})
        unknown = await client.call_tool("expand_prompt", {"command": "reserch", "input": ""})
        prompts = await client.list_prompts()
        prompt = await client.get_prompt("research", {"input": "tides"})
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
