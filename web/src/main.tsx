// Starts the page: styles, theme, server state, event stream, routes.
import "@mantine/core/styles/default-css-variables.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/runs.css";
import "./styles/basket.css";
import "./styles/experiment.css";
import "./styles/board.css";
import "./styles/controls.css";
import "./styles/plans.css";
import "./styles/compare.css";
import "./styles/docs.css";
import "./styles/media.css";
import "./styles/reports.css";
import { createTheme, localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startLive } from "./api/live";
import { makeQueryClient } from "./api/queries";
import { router } from "./router";
import { followOtherTabs } from "./state/basket";

const theme = createTheme({
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  respectReducedMotion: true,
});
// theme.js reads the same key before the first paint.
const colours = localStorageColorSchemeManager({ key: "corral-theme" });
const client = makeQueryClient();
startLive(client);
followOtherTabs();

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} colorSchemeManager={colours} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
