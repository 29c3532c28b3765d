// A part whose code cannot be loaded says so in its place, and comes by itself when the server is back.
import { act, type ComponentType } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useLive } from "../api/live";
import { late } from "./late";

const kText = "here it is";
const Part = ({ name = "" }: { name?: string }) => <b>{`${kText} ${name}`}</b>;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
});
afterEach(() => {
  act(() => root.unmount());
  document.body.replaceChildren();
});

// Loads nothing until it is let.
function gated() {
  const gate = { open: false, asked: 0 };
  const load = async (): Promise<ComponentType<{ name?: string }>> => {
    gate.asked++;
    if (!gate.open) throw new TypeError("Failed to fetch dynamically imported module");
    return Part;
  };
  return { gate, load };
}

const shown = () => document.body.textContent ?? "";
const live = (state: "live" | "offline") => act(async () => useLive.setState({ state }));

it("says that the server does not answer, and shows the part once it does", async () => {
  await live("offline");
  const { gate, load } = gated();
  const Late = late({ what: "The region", load });
  await act(async () => root.render(<Late name="one" />));
  expect(shown()).toContain("The region could not be loaded: the server does not answer.");
  gate.open = true;
  await live("live");
  expect(shown()).toBe(`${kText} one`);
});

it("tries again when asked to, and is there at once the next time", async () => {
  await live("live");
  const { gate, load } = gated();
  const Late = late({ what: "Search", load, waiting: <i>waiting</i> });
  await act(async () => root.render(<Late />));
  expect(shown()).toMatch(/^Search could not be loaded\. Reload/);
  gate.open = true;
  const button = document.querySelector("button") as HTMLButtonElement;
  await act(async () => button.click());
  expect(shown()).toContain(kText);
  const { asked } = gate;
  act(() => root.render(<Late key="again" />));
  expect(shown()).toContain(kText);
  expect(gate.asked).toBe(asked);
});

it("can be closed where it is a dialog, and never fails a page's preload", async () => {
  await live("offline");
  const closed: string[] = [];
  const { load } = gated();
  const Late = late<{ name?: string }>({
    what: "Export",
    load,
    close: ({ name }) => closed.push(name ?? ""),
  });
  await expect(Late.preload()).resolves.toBeUndefined();
  await act(async () => root.render(<Late name="loss" />));
  const close = [...document.querySelectorAll("button")].find((one) => one.textContent === "Close");
  await act(async () => close?.click());
  expect(closed).toEqual(["loss"]);
});
