// Routes and what their addresses may say.
import { createRootRoute, createRoute, createRouter, Link } from "@tanstack/react-router";
import { RunPage } from "../pages/run/RunPage";
import { RunsPage } from "../pages/runs/RunsPage";
import { Notice } from "./Notice";
import { Shell } from "./Shell";
import { parseSearch, runSearch, runsSearch, stringifySearch } from "./search";

function NotFound() {
  return (
    <Shell crumbs={["Nothing here"]} panel={null} toolbar={null} footer={null}>
      <Notice>
        <p>There is no page at {location.pathname}.</p>
        <p>
          <Link to="/">All runs</Link> are one click away.
        </p>
      </Notice>
    </Shell>
  );
}

const root = createRootRoute({ notFoundComponent: NotFound });

export const runsRoute = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: runsSearch,
  component: RunsPage,
});

export const runRoute = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  validateSearch: runSearch,
  component: RunPage,
});

export const router = createRouter({
  routeTree: root.addChildren([runsRoute, runRoute]),
  parseSearch,
  stringifySearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
