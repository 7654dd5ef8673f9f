// An OpenID Connect provider on loopback (npm's oidc-provider, everything in memory). Its page asks for a name and believes it.
//
//     openid_provider.mjs PACKAGES ALGORITHM
//
// PACKAGES is the folder that holds node_modules; ALGORITHM signs the id tokens. Prints its issuer; then each line on stdin is a
// command whose end is a line on stdout: `register ADDRESS` takes the address to which browsers are sent back, and makes the
// first key; `rotate` replaces the key by a new one. It ends with its stdin.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packages, algorithm] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${packages}/node_modules/oidc-provider/lib/index.js`));

const kinds = {
  RS256: ["rsa", { modulusLength: 2048 }],
  PS256: ["rsa", { modulusLength: 2048 }],
  ES256: ["ec", { namedCurve: "P-256" }],
  ES384: ["ec", { namedCurve: "P-384" }],
  EdDSA: ["ed25519", {}],
};

let redirect;
let provider;
const server = createServer((request, response) => {
  const path = new URL(request.url, issuer).pathname;
  const handle = path.startsWith("/interaction/") ? interact : provider.callback();
  Promise.resolve(handle(request, response)).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
await new Promise((bound) => server.listen(0, "127.0.0.1", bound));
// Not the name of the hub, so that a browser sees two sites.
const issuer = `http://localhost:${server.address().port}`;

function serve() {
  const key = generateKeyPairSync(...kinds[algorithm]).privateKey.export({ format: "jwk" });
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: "adjutant",
        client_secret: "a secret+with/signs=",
        redirect_uris: [redirect],
        id_token_signed_response_alg: algorithm,
      },
    ],
    jwks: { keys: [{ ...key, alg: algorithm, use: "sig", kid: randomUUID() }] },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(kinds) },
    cookies: { keys: ["of this test"] },
    claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        preferred_username: id,
        email: `${id}@example.org`,
        email_verified: id !== "mallory",
      }),
    }),
    // Whoever logs in consents.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
}

async function interact(request, response) {
  if (request.method === "GET") {
    response.setHeader("content-type", "text/html");
    response.end(
      '<!doctype html><title>Provider</title><form method="post"><input name="login" id="login"><button id="go">Log in</button>' +
        '<button name="cancel" value="1">Cancel</button></form>',
    );
    return;
  }
  let body = "";
  for await (const part of request) body += part;
  const fields = new URLSearchParams(body);
  const result = fields.has("cancel")
    ? { error: "access_denied", error_description: "the person <b>cancelled</b>" }
    : { login: { accountId: fields.get("login") } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

console.log(issuer);
for await (const line of createInterface({ input: process.stdin })) {
  const [command, address] = line.split(" ");
  if (command === "register") redirect = address;
  serve();
  console.log("done");
}
process.exit(0);
