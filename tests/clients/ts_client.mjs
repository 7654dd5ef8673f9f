// A TypeScript client as a user of Adjutant's prompts: prints what it got as one JSON object.
//
//     ts_client.mjs PACKAGES SDK ERA stdio COMMAND ARGUMENT...
//     ts_client.mjs PACKAGES SDK ERA http URL TOKEN
//
// PACKAGES is the folder that holds node_modules. SDK is v1 (@modelcontextprotocol/sdk, which knows no modern era), v2
// (its successor @modelcontextprotocol/client) or ai (@ai-sdk/mcp). ERA is legacy, with a handshake, or modern, without.
import { createRequire } from "node:module";

const [packages, sdk, era, kind, ...rest] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const headers = { Authorization: `Bearer ${rest[1]}` };
const program = { command: rest[0], args: rest.slice(1), env: process.env };
let revision;

async function official() {
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
      ? new StdioClientTransport(program)
      : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers } });
  // v1 says its revision to its transport alone.
  const set = transport.setProtocolVersion;
  transport.setProtocolVersion = (version) => {
    revision = version;
    set?.call(transport, version);
  };
  const options = era === "modern" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "ts-client", version: "1" }, options);
  await client.connect(transport);
  return client;
}

async function ai() {
  const { createMCPClient } = await import(require.resolve("@ai-sdk/mcp"));
  const { StdioMCPTransport } = await import(require.resolve("@ai-sdk/mcp/mcp-stdio"));
  return createMCPClient({
    transport: kind === "stdio" ? new StdioMCPTransport(program) : { type: "http", url: rest[0], headers },
    protocolVersionDiscovery: era === "modern",
  });
}

const client = sdk === "ai" ? await ai() : await official();
const call = (command) => client.callTool({ name: "expand_prompt", arguments: command });
const report = {
  revision: revision ?? client.initializeResult.protocolVersion,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  listed: await client.callTool({ name: "list_prompts", arguments: {} }),
  expanded: await call({ command: "research", input: "tides" }),
  unknown: await call({ command: "reserch", input: "" }),
  prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  prompt: await client.getPrompt({ name: "research", arguments: { input: "tides" } }),
};
await client.close();
// Printed after the connection has closed in order: an orderly end is part of the test.
console.log(JSON.stringify(report));
