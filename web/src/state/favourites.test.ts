import { beforeEach, describe, expect, it } from "vitest";
import { favouritesFirst, parseFavourites, toggleFavourite, useFavourites } from "./favourites";

const names = () => [...useFavourites.getState().names];

describe("starred metrics", () => {
  beforeEach(() => {
    localStorage.clear();
    useFavourites.setState({ names: new Set() });
  });

  it("are kept by the browser, and let go by a second click", () => {
    toggleFavourite("loss");
    toggleFavourite("val/acc");
    expect([...parseFavourites(localStorage.getItem("corral-favourites"))]).toEqual(names());
    toggleFavourite("loss");
    expect(names()).toEqual(["val/acc"]);
  });

  it("follow another tab, and survive what is no list", () => {
    const event = new StorageEvent("storage", { key: "corral-favourites", newValue: '["x"]' });
    dispatchEvent(event);
    expect(names()).toEqual(["x"]);
    for (const text of [null, "{", '{"a":1}', "7"]) expect(parseFavourites(text).size).toBe(0);
  });

  it("come first, all others in their order", () => {
    const all = ["c", "a", "d", "b"];
    expect(favouritesFirst(all, new Set(["b", "a"]), (one) => one)).toEqual(["a", "b", "c", "d"]);
  });
});
