// Starts the page: styles, server state, event stream, routes.
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/runs.css";
import "./styles/basket.css";
import "./styles/experiment.css";
import "./styles/board.css";
import "./styles/controls.css";
import "./styles/people.css";
import "./styles/plans.css";
import "./styles/compare.css";
import "./styles/docs.css";
import "./styles/media.css";
import "./styles/reports.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startLive } from "./api/live";
import { makeQueryClient } from "./api/queries";
import { router } from "./router";
import { followOtherTabs } from "./state/basket";

const client = makeQueryClient();
startLive(client);
followOtherTabs();

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
