import { expect, it } from "vitest";
import type { FoundRun } from "../../api/runSearch";
import type { Sample } from "./data";
import { importanceOf } from "./importance";

const sample = (i: number, value: number, values: Record<string, string>): Sample => ({
  run: { id: `${i}`, name: `${i}`, values } as unknown as FoundRun,
  value,
});
const kKeys = ["params.lr", "params.optimizer", "params.seed", "params.same"];

// By lr and optimizer, whatever the seed.
const made = (n: number, of: (lr: number, adam: boolean) => number): Sample[] =>
  Array.from({ length: n }, (_, i) => {
    const [lr, adam] = [((i * 7) % 10) / 10, (i * 3) % 4 < 2];
    return sample(i, of(lr, adam), {
      "params.lr": String(lr),
      "params.optimizer": adam ? "adam" : "sgd",
      "params.seed": String((i * 37) % 101),
      "params.same": "1",
    });
  });

it("finds the params that a metric depends on, of numbers and words, the greatest first", async () => {
  const found = await importanceOf(
    made(80, (lr, adam) => 10 * lr + (adam ? 3 : 0)),
    kKeys,
  );
  expect(found?.params.map(({ key }) => key)).toEqual([
    "params.lr",
    "params.optimizer",
    "params.seed",
  ]);
  const [lr, optimizer, seed] = found?.params ?? [];
  expect([lr?.chance, optimizer?.chance]).toEqual([false, false]);
  expect(lr?.correlation).toBeGreaterThan(0.8);
  expect(optimizer?.correlation).toBeNull();
  expect(seed?.importance).toBeLessThan(0.1);
  expect(found?.explained).toBeGreaterThan(0.8);
  expect(found?.warnings).toEqual([
    "Params that change together share their importance. It shows no cause.",
  ]);
});

it("finds what matters only together with another param", async () => {
  const xor = made(80, (lr, adam) => (lr >= 0.5 === adam ? 1 : 0));
  const found = await importanceOf(xor, kKeys);
  const of = (key: string) => found?.params.find((one) => one.key === key);
  for (const key of ["params.lr", "params.optimizer"])
    expect(of(key)?.importance).toBeGreaterThan(0.2);
  expect(Math.abs(of("params.lr")?.correlation ?? 1)).toBeLessThan(0.3);
});

it("is the same for the same runs", async () => {
  const samples = made(30, (lr) => lr);
  expect(await importanceOf(samples, kKeys)).toEqual(await importanceOf(samples, kKeys));
});

it("says when the numbers mean nothing, and gives none of too few", async () => {
  const noise = made(20, () => 0).map((one, i) => ({ ...one, value: Math.sin(i * i * 12.9898) }));
  const found = await importanceOf(noise, kKeys);
  expect(found?.warnings[0]).toMatch(/do not predict this metric/);
  expect(found?.warnings[1]).toBe("Few runs: 20 for 3 params. The order may be chance.");
  expect(
    await importanceOf(
      made(7, (lr) => lr),
      kKeys,
    ),
  ).toBeNull();
  expect(
    await importanceOf(
      made(20, () => 1),
      kKeys,
    ),
  ).toBeNull();
  expect(
    await importanceOf(
      made(20, (lr) => lr),
      ["params.same"],
    ),
  ).toBeNull();
});

it("takes runs without a value of a param", async () => {
  const some = made(40, (lr) => lr).map((one, i) =>
    i % 5 === 0 ? { ...one, run: { ...one.run, values: {} } as FoundRun } : one,
  );
  expect((await importanceOf(some, kKeys))?.params[0]?.key).toBe("params.lr");
});
