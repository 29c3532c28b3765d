// Routes and what their addresses may say. Each page is loaded when it is first opened.
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { experimentSearch } from "../pages/experiment/search";
import { planSearch } from "../pages/plans/search";
import { summarySearch } from "../pages/summary/search";
import { Notice } from "./Notice";
import { Shell } from "./Shell";
import { boardSearch, parseSearch, runSearch, runsSearch, stringifySearch } from "./search";

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
  component: lazyRouteComponent(() => import("../pages/runs/RunsPage"), "RunsPage"),
});

export const experimentRoute = createRoute({
  getParentRoute: () => root,
  path: "/experiments/$id",
  validateSearch: experimentSearch,
  component: lazyRouteComponent(
    () => import("../pages/experiment/ExperimentPage"),
    "ExperimentPage",
  ),
});

export const runRoute = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import("../pages/run/RunPage"), "RunPage"),
});

export const boardRoute = createRoute({
  getParentRoute: () => root,
  path: "/board",
  validateSearch: boardSearch,
  component: lazyRouteComponent(() => import("../pages/board/BoardPage"), "BoardPage"),
});

export const summaryRoute = createRoute({
  getParentRoute: () => root,
  path: "/summary",
  validateSearch: summarySearch,
  component: lazyRouteComponent(() => import("../pages/summary/SummaryPage"), "SummaryPage"),
});

export const plansRoute = createRoute({
  getParentRoute: () => root,
  path: "/plans",
  component: lazyRouteComponent(() => import("../pages/plans/PlansPage"), "PlansPage"),
});

export const planRoute = createRoute({
  getParentRoute: () => root,
  path: "/plans/$id",
  validateSearch: planSearch,
  component: lazyRouteComponent(() => import("../pages/plans/PlanPage"), "PlanPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    runsRoute,
    experimentRoute,
    runRoute,
    boardRoute,
    summaryRoute,
    plansRoute,
    planRoute,
  ]),
  parseSearch,
  stringifySearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
