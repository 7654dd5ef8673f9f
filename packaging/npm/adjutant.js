#!/usr/bin/env node
// Finds the binary of this platform and becomes it. A process that stayed in the middle would keep the end of input
// and signals from the server, so where Node cannot replace itself, both are handed on.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const name = `adjutant-mcp-${process.platform}-${process.arch}`;
let binary;
try {
  binary = path.join(path.dirname(require.resolve(`${name}/package.json`)), "bin", "adjutant");
} catch {
  console.error(`adjutant: there is no package ${name}; it is optional, so npm may have left it out`);
  process.exit(1);
}

const args = process.argv.slice(2);
if (typeof process.execve === "function") {
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  process.execve(binary, [binary, ...args], process.env);
}

// The signals first: the binary may be asked, answer and be done with before the next line runs.
let child;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child = spawn(binary, args, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`adjutant: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
