// A provider of OpenID Connect for tests: node-oidc-provider with its own pages, where one signs in by any name. Takes
// a JSON object: port, client, secret, callback, algorithm and key (the name of a key of its own), complete (names are in
// the ID token itself), and people (what it says of each).
import { generateKeyPairSync } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";

const { default: Provider } = await import(
  createRequire(new URL("../../web/package.json", import.meta.url)).resolve("oidc-provider")
);
const { port, client, secret, callback, algorithm, key, complete, people } = JSON.parse(process.argv[2]);
const pair =
  algorithm === "ES256"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : generateKeyPairSync("rsa", { modulusLength: 2048 });
const jwk = { ...pair.privateKey.export({ format: "jwk" }), kid: key, alg: algorithm, use: "sig" };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: client,
      client_secret: secret,
      redirect_uris: [callback],
      id_token_signed_response_alg: algorithm,
    },
  ],
  jwks: { keys: [jwk] },
  cookies: { keys: ["for tests"] },
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["name", "preferred_username", "roles"], email: ["email", "email_verified"] },
  conformIdTokenClaims: !complete,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  // Nobody is asked what the client may know.
  async loadExistingGrant(ctx) {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});
const server = http.createServer(provider.callback());
server.listen(port, "127.0.0.1", () => console.log(`listens on ${server.address().port}`));
