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
  // It cannot be put away: the second key closes it, and it opens again.
  await page.getByTestId("sign-in").waitFor();
  await signIn(page, "corral_pat_0123456789_nonsense");
  await page.getByText("mistyped, expired or revoked").waitFor();
  await signIn(page, made(await words("token", "add", "bob")));
  await page.getByTestId("run-status").first().waitFor();
  assert.equal(await page.getByTestId("sign-in").count(), 0);
  await page.getByTestId("user").click();
  await page.getByText("bob, reader").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read the token");
  const left = page.waitForEvent("load");
  await page.getByRole("button", { name: "Sign out" }).click();
  await left;
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

test("a person lets a program in that asks on the page", async () => {
  const { page, complaints, close } = await open(browser, home, "/device");
  await signIn(page, made(await words("token", "add", "bob")));
  await page.getByTestId("user").waitFor();
  const ask = async () => {
    const asking = home.start("login", home.url, "--browser");
    await soon(() => assert.match(asking.output(), /[A-Z]{4}-[A-Z]{4}/));
    return { asking, code: /[A-Z]{4}-[A-Z]{4}/.exec(asking.output())[0] };
  };
  const type = async (code) => {
    await page.getByLabel("Code that the program shows").fill(code);
    await page.getByRole("button", { name: "Continue" }).click();
  };
  const first = await ask();
  await page.getByLabel("Code that the program shows").waitFor();
  assert.deepEqual(await violations(page), []);
  await type("BBBB-BBBB");
  await page.getByText("no program waits with the code BBBB-BBBB").waitFor();
  await type(first.code.toLowerCase());
  await page.getByText("asks to act for you, bob").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByText("may sign in now").waitFor();
  assert.equal(await first.asking.ended, 0, first.asking.output());
  assert.match(first.asking.output(), /bob, reader/);

  const second = await ask();
  await page.reload();
  await type(second.code);
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByText("was refused").waitFor();
  assert.equal(await second.asking.ended, 1);
  assert.deepEqual(
    complaints.filter((text) => !/401|404/.test(text)),
    [],
  );
  await close();
});

test("an admin manages people and tokens on the page, and sees what was done", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await signIn(page, made(await words("token", "add", "ada")));
  await page.getByTestId("user").click();
  await page.getByRole("link", { name: "People and access tokens" }).click();
  const people = page.getByRole("table", { name: "People" });
  await people.getByText("bob").waitFor();
  await page.getByLabel("Name of a new user").fill("carl");
  await page.getByLabel("Role of the new user").selectOption("reader");
  await page.getByRole("button", { name: "Add" }).click();
  await people.getByText("carl").waitFor();
  await page.getByLabel("Role of carl").selectOption("writer");
  await soon(async () => assert.match(await words("user", "ls"), /carl .*writer/));
  assert.deepEqual(await violations(page), []);

  await page.getByRole("button", { name: "New token for carl" }).click();
  const dialog = page.getByRole("dialog", { name: "New token for carl" });
  await dialog.getByLabel("For").fill("his laptop");
  await dialog.getByRole("button", { name: "Make the token" }).click();
  const token = await dialog.getByLabel("The new token").inputValue();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Close" }).click();
  const me = async () => {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${home.url}/api/corral/v1/me`, { headers });
    return answer.ok ? (await answer.json()).role : answer.status;
  };
  assert.equal(await me(), "writer");
  await page.getByRole("button", { name: "Disable carl" }).click();
  await people.getByText("disabled", { exact: true }).waitFor();
  assert.equal(await me(), 401);
  await page.getByRole("button", { name: "Enable carl" }).click();
  await people.getByText("disabled", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await me(), "writer");

  const tokens = page.getByRole("table", { name: "Access tokens" });
  await tokens.getByText("his laptop").waitFor();
  const revoke = `Revoke ${token.split("_")[2]}`;
  await page.getByRole("button", { name: revoke, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await me(), "writer", "it was not asked for");
  await page.getByRole("button", { name: revoke, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await soon(async () => assert.equal(await me(), 401));
  await page.getByRole("button", { name: revoke, exact: true }).waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Delete carl" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await people.getByRole("rowheader", { name: "carl" }).waitFor({ state: "detached" });
  const done = page.getByRole("table", { name: "What was done" });
  await done.getByText("DELETE /users/carl").waitFor();
  assert.deepEqual(
    complaints.filter((text) => !text.includes("401")),
    [],
  );
  // A refusal by the server is said, and nothing else is shown than what counts.
  await page.getByLabel("Role of ada").selectOption("reader");
  await page.getByText("the last admin must stay one").waitFor();
  assert.equal(await page.getByLabel("Role of ada").inputValue(), "admin");
  await close();
});

test("an admin lets people into a space and out of it, and others see nothing of it", async () => {
  await words("run", "--no-listeners", "--quiet", "--experiment", "vision/net", "true");
  const { page: admin, close: leave } = await open(browser, home, "/people");
  await signIn(admin, made(await words("token", "add", "ada")));
  await admin.getByLabel("Name of a new space").fill("vision");
  await admin.getByRole("button", { name: "Create the space" }).click();
  const spaces = admin.getByRole("table", { name: "Spaces" });
  await spaces.getByText("vision/").waitFor();

  const { page, close } = await open(browser, home, "/");
  await signIn(page, made(await words("token", "add", "bob")));
  await page.getByTestId("run-status").first().waitFor();
  assert.equal(await page.getByText("vision/net").count(), 0);
  await admin.getByLabel("Let somebody into vision").selectOption("bob");
  await page.getByText("vision/net").first().waitFor();
  await page.goto(`${home.url}/people`);
  await page.getByRole("table", { name: "Spaces" }).getByText("bob").waitFor();
  assert.equal(await page.getByLabel("Name of a new space").count(), 0);
  assert.deepEqual(await violations(page), []);
  await page.goto(home.url);
  await page.getByText("vision/net").first().waitFor();

  await admin.getByRole("button", { name: "Remove bob from vision" }).click();
  await page.getByText("vision/net").first().waitFor({ state: "detached" });

  // In a team bob is let in with the others.
  await admin.getByLabel("Name of a new team").fill("seniors");
  await admin.getByRole("button", { name: "Create the team" }).click();
  await admin.getByLabel("Let somebody into seniors").selectOption("bob");
  await admin.getByRole("button", { name: "Remove bob from seniors" }).waitFor();
  await admin.getByLabel("Let somebody into vision").selectOption("@seniors");
  await page.getByText("vision/net").first().waitFor();
  await page.goto(`${home.url}/people`);
  await page.getByRole("table", { name: "Teams" }).getByText("@seniors").waitFor();
  assert.equal(await page.getByLabel("Name of a new team").count(), 0);
  assert.deepEqual(await violations(page), []);
  await page.goto(home.url);
  await page.getByText("vision/net").first().waitFor();
  await admin.getByRole("button", { name: "Delete the team seniors" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("vision/net").first().waitFor({ state: "detached" });
  assert.deepEqual(await violations(admin), []);
  await admin.getByRole("button", { name: "Open vision to everybody" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Open" }).click();
  await page.getByText("vision/net").first().waitFor();
  await leave();
  await close();
});

test("who is no admin sees their own tokens, and revokes them", async () => {
  const { page, close } = await open(browser, home, "/");
  const token = made(await words("token", "add", "bob", "--label", "old phone"));
  await signIn(page, made(await words("token", "add", "bob", "--label", "bob's desk")));
  await page.getByTestId("user").click();
  await page.getByRole("link", { name: "Your access tokens" }).click();
  const tokens = page.getByRole("table", { name: "Access tokens" });
  await tokens.getByText("old phone").waitFor();
  assert.equal(await page.getByRole("table").count(), 1);
  assert.equal(await page.getByLabel("Name of a new user").count(), 0);
  assert.deepEqual(await violations(page), []);
  const id = token.split("_")[2];
  await page.getByRole("button", { name: `Revoke ${id}`, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page
    .getByRole("button", { name: `Revoke ${id}`, exact: true })
    .waitFor({ state: "detached" });
  assert.match(await words("token", "ls"), new RegExp(`${id}.*old phone`));
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
    await page.getByTestId("user").waitFor();
    await page.getByTestId("live").getByText("live").waitFor();
    const [cookie] = await page.context().cookies();
    assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict");
    assert.deepEqual(
      complaints.filter((text) => !text.includes("401")),
      [],
    );
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
