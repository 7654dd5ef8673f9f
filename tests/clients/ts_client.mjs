// The official TypeScript SDK as a user of Adjutant's prompts: prints what it got as one JSON object.
//
//     ts_client.mjs PACKAGES SDK stdio COMMAND ARGUMENT...
//     ts_client.mjs PACKAGES SDK http URL TOKEN
//
// PACKAGES is the folder that holds node_modules. SDK is v1 (@modelcontextprotocol/sdk), v2 (its successor
// @modelcontextprotocol/client, which asks for the era) or v2-legacy (the same, with the handshake).
import { createRequire } from "node:module";

const [packages, sdk, kind, ...rest] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const { Client, StdioClientTransport, StreamableHTTPClientTransport } =
  sdk === "v1"
    ? {
        ...require("@modelcontextprotocol/sdk/client/index.js"),
        ...require("@modelcontextprotocol/sdk/client/stdio.js"),
        ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      }
    : {
        ...require("@modelcontextprotocol/client"),
        ...require("@modelcontextprotocol/client/stdio"),
      };

const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(rest[0]), {
        requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } },
      });
const options = sdk === "v2" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "ts-client", version: "1" }, options);
await client.connect(transport);
const report = {
  era: sdk === "v1" ? "legacy" : client.getProtocolEra(),
  server: client.getServerVersion()?.name,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  listed: await client.callTool({ name: "list_prompts", arguments: {} }),
  expanded: await client.callTool({ name: "expand_prompt", arguments: { command: "research", input: "tides" } }),
  unknown: await client.callTool({ name: "expand_prompt", arguments: { command: "reserch", input: "" } }),
  prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  prompt: await client.getPrompt({ name: "research", arguments: { input: "tides" } }),
};
await client.close();
// Printed after the connection has closed in order: an orderly end is part of the test.
console.log(JSON.stringify(report));
