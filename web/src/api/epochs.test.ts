import { afterEach, expect, it, vi } from "vitest";
import { allEpochs } from "./epochs";

afterEach(() => vi.unstubAllGlobals());

const epoch = (index: number) => ({ index, start_ns: String(index), end_ns: String(index + 1) });

function serve(pages: { epochs: ReturnType<typeof epoch>[]; more: boolean }[]) {
  const asked: unknown[] = [];
  vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
    asked.push(JSON.parse(body));
    const page = { run: "a", from: "phases", first_step_ns: null, ...pages[asked.length - 1] };
    return new Response(JSON.stringify({ runs: [page] }));
  });
  return asked;
}

it("asks for epochs until there are no more", async () => {
  const asked = serve([
    { epochs: [epoch(0), epoch(1)], more: true },
    { epochs: [epoch(2)], more: false },
  ]);
  const found = await allEpochs("a", new AbortController().signal);
  expect(found?.epochs.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(asked).toEqual([
    { runs: ["a"], skip: 0 },
    { runs: ["a"], skip: 2 },
  ]);
});

it("ends when a page is empty, whatever is said of more", async () => {
  const asked = serve([
    { epochs: [epoch(0)], more: true },
    { epochs: [], more: true },
  ]);
  expect((await allEpochs("a", new AbortController().signal))?.epochs).toHaveLength(1);
  expect(asked).toHaveLength(2);
});
