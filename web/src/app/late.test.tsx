// A part whose code cannot be loaded says so in its place, and comes by itself when the server is back.
import { act, type ComponentType } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useLive } from "../api/live";
import { Boundary } from "./Boundary";
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
  expect(shown()).toMatch(
    /^Search could not be loaded: the server may have a newer version of it\./,
  );
  expect(shown()).toContain("Reload the page");
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

it("says what failed in a part that is loaded, and shows it when tried again", async () => {
  await live("live");
  const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
  let broken = true;
  const Broken = () => {
    if (broken) throw new RangeError("no such bucket");
    return <b>{kText}</b>;
  };
  const Late = late({ what: "The region", load: async () => Broken });
  await act(async () =>
    root.render(
      <>
        <i>beside</i>
        <Late />
      </>,
    ),
  );
  expect(shown()).toBe("besideThe region failed: no such bucket. Try again Reload the page");
  broken = false;
  await act(async () => (document.querySelector("button") as HTMLButtonElement).click());
  expect(shown()).toBe(`beside${kText}`);
  quiet.mockRestore();
});

it("tries a failed part again when what it shows is another", async () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
  const Broken = ({ of }: { of: string }) => {
    if (of === "bad") throw new Error("no such bucket");
    return <b>{of}</b>;
  };
  const show = (of: string) =>
    act(async () =>
      root.render(
        <Boundary what="The chart" again={of}>
          <Broken of={of} />
        </Boundary>,
      ),
    );
  await show("bad");
  expect(shown()).toContain("The chart failed: no such bucket.");
  await show("good");
  expect(shown()).toBe("good");
  quiet.mockRestore();
});
