// Names are text: a run whose every name is a script, on the page in a real Chromium. None of it may run, and all of
// it must be readable as it was written.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chartsDrawn, Home, launch, open, soon } from "./support.mjs";

const kScript = "<script>window.pwned='tag'</script>";
const kImage = '"><img src=x onerror="window.pwned=`image`">';
const kSvg = "<svg/onload=window.pwned='svg'>";
const kLink = "javascript:window.pwned='link'";
const kTemplate = "{{constructor.constructor('window.pwned=1')()}}${window.pwned=2}";
const kProgram = `
import corral
script, image, svg, link, template = ${JSON.stringify([kScript, kImage, kSvg, kLink, kTemplate])}
corral.params({script: image, image: script, "link": link})
corral.tag(svg, image)
corral.tag("mlflow.note.content", image + script)
corral.event(script, **{"detail": image})
with corral.phase(image):
    with corral.phase(svg):
        for i in range(20):
            for name in (script, image, svg, link, template):
                corral.log(name, i, step=i)
print(script + image)
`;

const home = new Home();
let browser;
let run;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const program = join(home.folder, "names.py");
  writeFileSync(program, kProgram);
  const words = [
    "run",
    "--no-listeners",
    "--experiment",
    kImage,
    "--workload",
    kSvg,
    "--name",
    kScript,
  ];
  const recorded = home.start(...words, home.environment.CORRAL_PYTHON, program);
  assert.equal(await recorded.ended, 0, recorded.output());
  [run] = await home.runs();
});

after(async () => {
  await browser?.close();
  await home.close();
});

// A script that ran would have left its mark here; markup that became an element would be one of these.
async function nothingRan(page) {
  const found = await page.evaluate(() => ({
    pwned: window.pwned,
    elements: [
      ...document.querySelectorAll("img[src=x], svg[onload], [onerror], a[href^=javascript]"),
    ].length,
    inline: [...document.scripts].filter((script) => script.text.includes("pwned")).length,
  }));
  assert.deepEqual(found, { pwned: undefined, elements: 0, inline: 0 });
}

test("the list of runs shows names as they are", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  page.on("dialog", () => assert.fail("a dialog"));
  const row = page.getByTestId("run-row");
  await row.getByText(kScript).first().waitFor();
  await nothingRan(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a run's page shows metrics, phases, parameters and output as they are", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${run.id}`);
  page.on("dialog", () => assert.fail("a dialog"));
  await chartsDrawn(page);
  await soon(async () => {
    const shown = await page.evaluate(() =>
      [...document.querySelectorAll("[data-testid=chart]")].map((figure) => figure.dataset.metric),
    );
    for (const name of [kScript, kImage, kSvg, kLink, kTemplate])
      assert.ok(shown.includes(name), shown.join("\\n"));
  });
  for (const tab of await page.getByRole("tab").all()) {
    await tab.click();
    await nothingRan(page);
  }
  await nothingRan(page);
  assert.deepEqual(complaints, []);
  await close();
});
