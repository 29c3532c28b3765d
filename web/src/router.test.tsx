import { expect, test } from "vitest";
import { mlflowTarget, router } from "./router";

const kRun = "0c42fd5de87d4f529c0fb7d3ab1d3c05";

test("links that MLflow's clients print are those of the run and of the experiment", () => {
  const run = { to: "/runs/$id", params: { id: kRun } };
  expect(mlflowTarget(`/experiments/0/runs/${kRun}`)).toEqual(run);
  expect(mlflowTarget(`/experiments/12/runs/${kRun}/artifacts`)).toEqual(run);
  expect(mlflowTarget("/experiments/12")).toEqual({ to: "/experiments/$id", params: { id: "12" } });
  expect(mlflowTarget("/experiments/12?searchFilter=x")).toEqual({
    to: "/experiments/$id",
    params: { id: "12" },
  });
  for (const other of ["", "/models/m/versions/1", "/experiments/x", "a-heading"])
    expect(mlflowTarget(other), other).toBeNull();
});

test.each([
  [`/#/experiments/3/runs/${kRun}`, `/runs/${kRun}`],
  ["/#/experiments/3", "/experiments/3"],
  // Inside corral run the printed address redirects to the run; browsers keep the part behind #.
  [`/runs/${kRun}#/experiments/3/runs/${kRun}`, `/runs/${kRun}`],
])(
  "%s leads to %s",
  async (from, to) => {
    router.history.replace(from);
    await router.load();
    expect(router.state.location.pathname).toBe(to);
    expect(router.state.location.hash).toBe("");
  },
  60_000,
); // the pages are loaded, too
