// Signing in at a provider of OpenID Connect: the button, the provider's own page, and back to where one was.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Home, launch, open, soon, violations } from "./support.mjs";

let home;
let browser;
let provider;

const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
};

before(async () => {
  home = new Home();
  const port = await freePort();
  const secret = join(home.folder, "secret");
  writeFileSync(secret, "for tests", { mode: 0o600 });
  const of = ["--oidc-issuer", `http://127.0.0.1:${port}`, "--oidc-client", "corral"];
  home.serveWith = ["--auth", "users", ...of, "--oidc-secret-file", secret, "--oidc-role", "writer"];
  await home.serve();
  const script = fileURLToPath(new URL("../e2e/oidc_provider.mjs", import.meta.url));
  const options = {
    port,
    client: "corral",
    secret: "for tests",
    callback: `${home.url}/auth/callback`,
    algorithm: "ES256",
    key: "k1",
    complete: true,
    people: { "s-eve": { preferred_username: "eve", name: "Eve" } },
  };
  provider = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(provider.stdout, "data");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  provider?.kill();
  await home.close();
});

test("a person signs in at the provider, makes a token, and signs out", async () => {
  const { page, complaints, close } = await open(browser, home, "/people?of=me");
  await page.getByTestId("sign-in").waitFor();
  const button = page.getByRole("link", { name: "Sign in with 127.0.0.1" });
  await button.waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(
    complaints.filter((text) => !text.includes("401")),
    [],
  );
  await page.route("https://**", (route) => route.abort()); // a font of the provider's page
  await button.click();
  await page.locator('input[name="login"]').fill("s-eve");
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.waitForURL(`${home.url}/people?of=me`);
  complaints.length = 0; // those of the provider's page
  await page.getByText("Your access tokens").waitFor();
  await page.getByRole("table", { name: "Access tokens" }).getByText("signed in by 127.0.0.1").waitFor();
  assert.deepEqual(await violations(page), []);

  await page.getByRole("button", { name: "New token for eve" }).click();
  const dialog = page.getByRole("dialog", { name: "New token for eve" });
  await dialog.getByLabel("For").fill("mlflow");
  assert.deepEqual(await dialog.getByLabel("May").locator("option").allTextContents(), ["reader", "writer"]);
  await dialog.getByRole("button", { name: "Make the token" }).click();
  const token = await dialog.getByLabel("The new token").inputValue();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Close" }).click();
  const me = async () => {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${home.url}/api/corral/v1/me`, { headers });
    return answer.ok ? (await answer.json()).user : answer.status;
  };
  assert.equal(await me(), "eve");

  await page.getByTestId("user").click();
  const left = page.waitForEvent("load");
  await page.getByRole("button", { name: "Sign out" }).click();
  await left;
  await page.getByTestId("sign-in").waitFor();
  await page.reload();
  await page.getByTestId("sign-in").waitFor();
  await soon(async () => assert.equal(await me(), "eve", "a program's token outlives the browser's"));
  assert.deepEqual(
    complaints.filter((text) => !text.includes("401")),
    [],
  );
  await close();
});
