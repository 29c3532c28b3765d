import { type Query, QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "./client";
import { restOf, startLive, useLive } from "./live";

type Asked = Pick<Query, "state" | "queryKey">;
const query = (data: unknown, fetchStatus = "idle") =>
  ({ queryKey: [], state: { fetchStatus, dataUpdatedAt: 1_000_000, data } }) as unknown as Asked;
const phases = (count: number) => ({ phases: Array.from({ length: count }) });

describe("restOf", () => {
  it("lets short answers be asked for at once, long lists of phases more rarely, all of them in the end", () => {
    expect(restOf(query({ metrics: [] }), 1_000_000)).toBe(0);
    expect(restOf(query(phases(100)), 1_001_000)).toBe(0);
    expect(restOf(query(phases(20_000)), 1_001_000)).toBe(9000);
    expect(restOf(query(phases(20_000)), 1_010_000)).toBe(0);
    expect(restOf(query({ metrics: Array.from({ length: 200 }) }), 1_001_000)).toBe(2000);
    expect(restOf(query(phases(100_000)), 1_000_000)).toBe(30_000);
  });

  it("lets the document of a long plan rest, too", () => {
    const plan = (count: number) => query({ runs: Array.from({ length: count }) });
    expect(restOf(plan(10), 1_000_010)).toBe(0);
    expect(restOf(plan(10_000), 1_001_000)).toBe(2000);
  });

  it("lets an explanation rest so that the server stays free, and one of too many phases for long", () => {
    const explained = (state: object) =>
      ({
        queryKey: ["explain", "id"],
        state: { fetchStatus: "idle", dataUpdatedAt: 0, errorUpdatedAt: 1_000_000, ...state },
      }) as unknown as Asked;
    const found = (...phases: number[]) =>
      explained({ data: { lanes: phases.map((n) => ({ leaves: [{ phases: n }] })) } });
    expect(restOf(found(0, 40), 1_004_000)).toBe(6000);
    expect(restOf(found(), 1_010_000)).toBe(0);
    expect(restOf(found(500_000, 500_000), 1_000_000)).toBe(100_000);
    const refused = (status: number) => explained({ error: new ApiError("no", status, "") });
    expect(restOf(refused(413), 1_010_000)).toBe(590_000);
    expect(restOf(refused(0), 1_010_000)).toBe(0);
  });

  it("lets what is read for long rest for a minute", () => {
    for (const what of ["interest", "footprint"]) {
      const state = { fetchStatus: "idle", dataUpdatedAt: 1_000_000, errorUpdatedAt: 0 };
      const asked = { queryKey: [what, "id"], state } as unknown as Asked;
      expect([1_000_000, 1_060_000].map((now) => restOf(asked, now))).toEqual([60_000, 0]);
    }
  });

  it("does not ask again while an answer is on its way", () => {
    expect(restOf(query(phases(1), "fetching"), 9_000_000)).toBeGreaterThan(0);
  });
});

describe("startLive", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  // A server that gives no stream; whether it answers anything else.
  async function refused(answers: boolean): Promise<{ asked: number; state: string }> {
    const failing: (() => Promise<void> | undefined)[] = [];
    class Refused {
      onerror: (() => Promise<void>) | null = null;
      constructor() {
        failing.push(() => this.onerror?.());
      }
      addEventListener() {}
      close() {}
    }
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", Refused);
    vi.stubGlobal("fetch", async () => {
      if (!answers) throw new TypeError("Failed to fetch");
      return new Response("{}");
    });
    const client = new QueryClient();
    const again = vi.spyOn(client, "invalidateQueries");
    useLive.setState({ state: "connecting" });
    const stop = startLive(client);
    await failing[0]?.();
    await vi.advanceTimersByTimeAsync(3000);
    await failing[1]?.();
    expect(failing.length).toBe(2);
    stop();
    return { asked: again.mock.calls.length, state: useLive.getState().state };
  }

  it("has a run explained anew every ten seconds while data arrive, and once more at their end", async () => {
    const heard = new Map<string, (event: { data: string }) => void>();
    class Stream {
      addEventListener(what: string, hear: (event: { data: string }) => void) {
        heard.set(what, hear);
      }
      close() {}
    }
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", Stream);
    const client = new QueryClient();
    const asked: number[] = [];
    const begun = Date.now();
    const queryFn = async () => {
      asked.push(Math.round((Date.now() - begun) / 1000));
      return { lanes: [] };
    };
    const observer = new QueryObserver(client, { queryKey: ["explain", "r"], queryFn });
    const forget = observer.subscribe(() => {});
    const stop = startLive(client);
    for (let second = 0; second < 25; second++) {
      heard.get("data")?.({ data: '{"runs":["r"]}' });
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(asked).toEqual([0, 10, 20]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([0, 10, 20, 30]);
    forget();
    stop();
  });

  it("asks again by itself where the server answers but has no stream left", async () => {
    expect(await refused(true)).toEqual({ asked: 1, state: "live" });
  });

  it("says that a server is gone that answers nothing", async () => {
    expect(await refused(false)).toEqual({ asked: 0, state: "offline" });
  });
});
