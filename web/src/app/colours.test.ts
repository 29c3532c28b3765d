import { beforeEach, describe, expect, it } from "vitest";
import { chooseLineColours, useLineColours } from "./colours";

const name = () => useLineColours.getState().name;

describe("the colours of lines", () => {
  beforeEach(() => {
    localStorage.clear();
    useLineColours.setState({ name: "corral" });
  });

  it("are kept by the browser, and follow another tab", () => {
    chooseLineColours("tol");
    expect([name(), localStorage.getItem("corral-line-colours")]).toEqual(["tol", "tol"]);
    const event = (newValue: string | null) =>
      new StorageEvent("storage", { key: "corral-line-colours", newValue });
    dispatchEvent(event("okabe-ito"));
    expect(name()).toBe("okabe-ito");
    for (const none of ["of another version", null]) {
      dispatchEvent(event(none));
      expect(name()).toBe("corral");
    }
  });
});
