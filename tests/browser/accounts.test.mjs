// A store that is served to its users: signing in and out, what a reader is refused, and a token that is revoked.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Home, launch, open, soon, violations } from "./support.mjs";

let home;
let browser;
const wordsOf = async (place, ...command) => {
  const done = place.start(...command);
  assert.equal(await done.ended, 0, done.output());
  return done.output();
};
const words = (...command) => wordsOf(home, ...command);
const made = (text) => /corral_pat_\w+/.exec(text)[0];

before(async () => {
  home = new Home();
  home.serveWith = ["--auth", "users"];
  await home.loadRecorded();
  await home.serve();
  browser = await launch();
  await words("user", "add", "ada", "--role", "admin");
  await words("user", "add", "bob", "--role", "reader");
});
after(async () => {
  await browser?.close();
  await home.close();
});

const signIn = async (page, token) => {
  const form = page.getByTestId("sign-in");
  await form.waitFor();
  await form.getByLabel("Access token").fill(token);
  await form.getByRole("button", { name: "Sign in" }).click();
};

test("nothing is shown before a token that counts is given", async () => {
  const { page, close } = await open(browser, home, "/");
  await page.getByTestId("sign-in").waitFor();
  assert.equal(await page.getByTestId("run-status").count(), 0);
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  assert.ok(await page.getByTestId("sign-in").isVisible(), "it cannot be put away");
  await signIn(page, "corral_pat_0123456789_nonsense");
  await page.getByText("mistyped, expired or revoked").waitFor();
  await signIn(page, made(await words("token", "add", "bob")));
  await page.getByTestId("run-status").first().waitFor();
  assert.equal(await page.getByTestId("sign-in").count(), 0);
  await page.getByTestId("user").click();
  await page.getByText("bob, reader").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read the token");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByTestId("sign-in").waitFor();
  await page.reload();
  await page.getByTestId("sign-in").waitFor();
  await close();
});

test("a revoked token ends an open page", async () => {
  const token = made(await words("token", "add", "bob"));
  const { page, close } = await open(browser, home, "/");
  await signIn(page, token);
  await page.getByTestId("run-status").first().waitFor();
  await words("token", "rm", token.split("_")[2]);
  // The stream of events ends, and the page asks again.
  await page.getByTestId("sign-in").waitFor();
  await close();
});

test("by HTTPS plain addresses lead to the page, it is live, and its token is never sent without", async () => {
  const lab = new Home();
  try {
    const files = [join(lab.folder, "lab.pem"), join(lab.folder, "lab.key")];
    const request =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=lab -addext";
    const names = "subjectAltName=IP:127.0.0.1";
    const made = [...request.split(" "), names, "-out", files[0], "-keyout", files[1]];
    assert.equal(spawnSync("openssl", made).status, 0);
    lab.serveWith = ["--auth", "users", "--tls-cert", files[0], "--tls-key", files[1]];
    await lab.serve();
    assert.match(lab.url, /^https:/);
    await wordsOf(lab, "user", "add", "eve", "--role", "writer");
    const token = /corral_pat_\w+/.exec(await wordsOf(lab, "token", "add", "eve"))[0];
    const { page, complaints, close } = await open(browser, lab, "/", { ignoreHTTPSErrors: true });
    await signIn(page, token);
    await page.getByTestId("live").getByText("live").waitFor();
    const [cookie] = await page.context().cookies();
    assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict");
    assert.deepEqual(complaints.filter((text) => !text.includes("401")), []);
    await page.goto(lab.url.replace("https", "http"));
    assert.ok(page.url().startsWith(lab.url));
    await close();
  } finally {
    await lab.close();
  }
});

test("a server without users shows no user and asks for nothing", async () => {
  const plain = new Home();
  try {
    await plain.serve();
    const { page, complaints, close } = await open(browser, plain, "/");
    await page.getByTestId("live").getByText("live").waitFor();
    await soon(async () => assert.equal(await page.getByTestId("sign-in").count(), 0));
    assert.equal(await page.getByTestId("user").count(), 0);
    assert.deepEqual(complaints, []);
    await close();
  } finally {
    await plain.close();
  }
});
