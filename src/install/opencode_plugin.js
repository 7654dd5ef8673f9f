// Asks Adjutant about the permissions that opencode asks for. `adjutant install opencode` writes this file, and
// `adjutant uninstall opencode` removes it. Without a decision, opencode's own prompt decides.
import { spawn } from "node:child_process"

const COMMAND = []

const MAX_CALLS = 1000 // a call that is denied has no end
const hooks = new Set() // the hooks of all folders, which must not outlive opencode
process.on("exit", () => hooks.forEach((hook) => hook.kill()))

// A model's provider chooses the id of a call, so it is unique within its session only.
const key = (sessionID, callID) => JSON.stringify([sessionID, callID])

export const Adjutant = async ({ client, directory }) => {
  const calls = new Map() // the arguments of the tool calls that run
  const asking = new Map() // the hooks that wait for a decision

  const ask = (request) => {
    const call = calls.get(key(request.sessionID, request.tool?.callID)) ?? {}
    const { permission, patterns, metadata } = request
    const hook = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    asking.set(request.id, hook)
    hooks.add(hook)
    let output = ""
    hook.stdout.on("data", (part) => (output += part))
    hook.stdin.on("error", () => {})
    hook.on("error", () => asking.delete(request.id))
    hook.on("close", (code) => {
      hooks.delete(hook)
      if (!asking.delete(request.id) || code !== 0) return
      let reply
      try {
        reply = JSON.parse(output).reply
      } catch {
        return
      }
      if (reply !== "once" && reply !== "reject") return
      const path = { id: request.sessionID, permissionID: request.id }
      client.postSessionIdPermissionsPermissionId({ path, body: { response: reply } }).catch(() => {})
    })
    hook.stdin.end(
      JSON.stringify({
        hook_event_name: "permission.asked",
        session_id: request.sessionID,
        cwd: directory,
        tool_name: permission,
        tool_input: { patterns, metadata, tool: call.tool, arguments: call.args },
      }),
    )
  }

  return {
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      calls.set(key(sessionID, callID), { tool, args })
      if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value)
    },
    "tool.execute.after": async ({ sessionID, callID }) => {
      calls.delete(key(sessionID, callID))
    },
    event: async ({ event }) => {
      if (event.type === "permission.asked") ask(event.properties)
      if (event.type === "permission.replied") {
        const hook = asking.get(event.properties.requestID)
        asking.delete(event.properties.requestID)
        hook?.kill()
      }
    },
  }
}
