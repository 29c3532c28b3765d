// Routes and the parameters of their addresses. Each page is loaded when it is first opened.
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { Crashed } from "./app/Crashed";
import { type LateOptions, late } from "./app/late";
import { Notice } from "./app/Notice";
import { Shell } from "./app/Shell";
import { parseSearch, type Raw, stringifySearch } from "./app/search";
import { boardSearch } from "./board/view";
import { collocationSearch } from "./pages/collocation/search";
import { compareSearch, historySearch } from "./pages/compare/search";
import { experimentSearch } from "./pages/experiment/search";
import { FileDrop } from "./pages/opened/FileDrop";
import { planSearch } from "./pages/plans/search";
import { runSearch } from "./pages/run/search";
import { runsSearch } from "./pages/runs/search";
import { summarySearch } from "./pages/summary/search";

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

// A page that cannot be shown says so inside the frame, which leads elsewhere.
const page = <P extends object>(options: LateOptions<P>) =>
  late({
    ...options,
    frame: (sentence) => (
      <Shell crumbs={[options.what]} panel={null} toolbar={null} footer={null}>
        <div className="notice">{sentence}</div>
      </Shell>
    ),
  });

function Root() {
  return (
    <>
      <Outlet />
      <FileDrop />
    </>
  );
}

// MLflow's clients print links to its page: http://host/#/experiments/N and .../runs/ID.
export function mlflowTarget(hash: string) {
  const [, experiment, run] =
    /^\/experiments\/(\d+)(?:\/runs\/([0-9a-f]{32}))?(?:[/?]|$)/.exec(hash) ?? [];
  if (run !== undefined) return { to: "/runs/$id", params: { id: run } } as const;
  if (experiment !== undefined)
    return { to: "/experiments/$id", params: { id: experiment } } as const;
  return null;
}

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  beforeLoad: ({ location }) => {
    const target = mlflowTarget(location.hash);
    if (target !== null) throw redirect({ ...target, replace: true });
  },
});

export const runsRoute = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: runsSearch,
  component: page({
    what: "The list of runs",
    load: async () => (await import("./pages/runs/RunsPage")).RunsPage,
  }),
});

export const experimentRoute = createRoute({
  getParentRoute: () => root,
  path: "/experiments/$id",
  validateSearch: experimentSearch,
  component: page({
    what: "The experiment",
    load: async () => (await import("./pages/experiment/ExperimentPage")).ExperimentPage,
  }),
});

export const runRoute = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  validateSearch: runSearch,
  component: page({
    what: "The run",
    load: async () => (await import("./pages/run/RunPage")).RunPage,
  }),
});

export const boardRoute = createRoute({
  getParentRoute: () => root,
  path: "/board",
  validateSearch: boardSearch,
  component: page({
    what: "The board",
    load: async () => (await import("./pages/board/BoardPage")).BoardPage,
  }),
});

export const summaryRoute = createRoute({
  getParentRoute: () => root,
  path: "/summary",
  validateSearch: summarySearch,
  component: page({
    what: "The summary",
    load: async () => (await import("./pages/summary/SummaryPage")).SummaryPage,
  }),
});

export const compareRoute = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  validateSearch: compareSearch,
  component: page({
    what: "The comparison",
    load: async () => (await import("./pages/compare/ComparePage")).ComparePage,
  }),
});

export const historyRoute = createRoute({
  getParentRoute: () => root,
  path: "/history",
  validateSearch: historySearch,
  component: page({
    what: "The history",
    load: async () => (await import("./pages/history/HistoryPage")).HistoryPage,
  }),
});

export const collocationRoute = createRoute({
  getParentRoute: () => root,
  path: "/collocation",
  validateSearch: collocationSearch,
  component: page({
    what: "The slowdowns",
    load: async () => (await import("./pages/collocation/CollocationPage")).CollocationPage,
  }),
});

export const plansRoute = createRoute({
  getParentRoute: () => root,
  path: "/plans",
  component: page({
    what: "The list of plans",
    load: async () => (await import("./pages/plans/PlansPage")).PlansPage,
  }),
});

export const planRoute = createRoute({
  getParentRoute: () => root,
  path: "/plans/$id",
  validateSearch: planSearch,
  component: page({
    what: "The plan",
    load: async () => (await import("./pages/plans/PlanPage")).PlanPage,
  }),
});

export const reportsRoute = createRoute({
  getParentRoute: () => root,
  path: "/reports",
  component: page({
    what: "The list of reports",
    load: async () => (await import("./pages/reports/ReportsPage")).ReportsPage,
  }),
});

export const reportRoute = createRoute({
  getParentRoute: () => root,
  path: "/reports/$name",
  validateSearch: ({ edit, version }: Raw): { edit?: boolean; version?: string } => ({
    ...(edit === true ? { edit } : {}),
    ...(typeof version === "string" && version !== "" ? { version } : {}),
  }),
  component: page({
    what: "The report",
    load: async () => (await import("./pages/reports/ReportPage")).ReportPage,
  }),
});

export const peopleRoute = createRoute({
  getParentRoute: () => root,
  path: "/people",
  component: page({
    what: "The list of people",
    load: async () => (await import("./pages/people/PeoplePage")).PeoplePage,
  }),
});

export const deviceRoute = createRoute({
  getParentRoute: () => root,
  path: "/device",
  component: page({
    what: "The sign-in of a program",
    load: async () => (await import("./pages/device/DevicePage")).DevicePage,
  }),
});

const docsPage = page({
  what: "The documentation",
  load: async () => (await import("./pages/docs/DocsPage")).DocsPage,
});

export const docsRoute = createRoute({
  getParentRoute: () => root,
  path: "/docs",
  component: docsPage,
});

export const documentRoute = createRoute({
  getParentRoute: () => root,
  path: "/docs/$name",
  component: docsPage,
});

export const router = createRouter({
  routeTree: root.addChildren([
    runsRoute,
    experimentRoute,
    runRoute,
    boardRoute,
    summaryRoute,
    compareRoute,
    historyRoute,
    collocationRoute,
    plansRoute,
    planRoute,
    reportsRoute,
    reportRoute,
    peopleRoute,
    deviceRoute,
    docsRoute,
    documentRoute,
  ]),
  parseSearch,
  stringifySearch,
  defaultErrorComponent: Crashed,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
