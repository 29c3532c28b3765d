// The frame of every page: header, side panel, toolbar, content, footer.
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode, useEffect, useState } from "react";
import { useMe, useSignedOut } from "../api/access";
import { sendJson } from "../api/client";
import { useLive } from "../api/live";
import { openPalette, usePalette } from "../state/palette";
import { Boundary } from "./Boundary";
import { Fence, Lines, Question } from "./icons";
import { LineColours } from "./LineColours";
import { late } from "./late";
import { Popup } from "./Popup";
import { ThemeToggle } from "./ThemeToggle";

// The way here in links, and the name of where one is.
export type Crumbs = readonly [...ReactNode[], string];

export interface ShellProps {
  crumbs: Crumbs;
  panel: ReactNode;
  toolbar: ReactNode;
  // A line below the toolbar.
  tabs?: ReactNode;
  children: ReactNode;
  footer: ReactNode;
}

export function Shell({ crumbs, panel, toolbar, tabs, children, footer }: ShellProps) {
  const [open, setOpen] = useState(false);
  return (
    <div className="shell" data-panel={open ? "open" : "closed"}>
      <header className="header">
        <button
          type="button"
          className="icon-button panel-button"
          aria-label="Side panel"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Lines />
        </button>
        <Link to="/" className="wordmark" aria-label="Corral, all runs">
          <Fence />
          corral
        </Link>
        <nav className="crumbs name" aria-label="Breadcrumb">
          {crumbs.map((crumb, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a crumb is its place
            <Fragment key={i}>
              {i > 0 && <span aria-hidden="true">/</span>}
              {typeof crumb === "string" ? <Here name={crumb} /> : crumb}
            </Fragment>
          ))}
        </nav>
        <SearchButton />
        <LiveIndicator />
        <Link to="/docs" className="icon-button" aria-label="Documentation" title="Documentation">
          <Question />
        </Link>
        <LineColours />
        <ThemeToggle />
        <UserMenu />
      </header>
      <aside className="panel" aria-label="Selection">
        <Part what="The side panel">{panel}</Part>
      </aside>
      <main className="main">
        <div>
          <div className="toolbar">
            <Part what="The toolbar">{toolbar}</Part>
          </div>
          {tabs !== undefined && <Part what="The saved lists">{tabs}</Part>}
          <OfflineBanner />
        </div>
        <Part what="This page">{children}</Part>
        <footer className="footer">
          <Part what="The footer">{footer}</Part>
        </footer>
      </main>
    </div>
  );
}

const SignIn = late({
  what: "The form to sign in",
  load: async () => (await import("./SignIn")).SignIn,
});

// Nothing where the server does not ask who somebody is.
function UserMenu() {
  const me = useMe();
  const signedOut = useSignedOut((state) => state.signedOut);
  if (signedOut) return <SignIn />;
  if (!me?.users || me.user === null) return null;
  const signOut = async () => {
    await sendJson("POST", "/sign-out", {});
    location.reload();
  };
  return (
    <Popup button={me.user} label={`Signed in as ${me.user}`} className="button" testid="user">
      {(close) => (
        <div className="form">
          <p>
            {me.user}, {me.role}
          </p>
          <Link to="/people" onClick={close}>
            {me.role === "admin" ? "People and access tokens" : "Your access tokens"}
          </Link>
          <Link to="/device" onClick={close}>
            Sign in a program
          </Link>
          <button type="button" className="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      )}
    </Popup>
  );
}

const Here = ({ name }: { name: string }) => (
  <span aria-current="page" className="cut" title={name}>
    {name}
  </span>
);

export const RunsLink = () => <Link to="/">Runs</Link>;

// Tried again whenever the address, which holds what is shown, is another.
function Part({ what, children }: { what: string; children: ReactNode }) {
  return (
    <Boundary what={what} again={location.href}>
      {children}
    </Boundary>
  );
}

const Palette = late({
  what: "Search",
  load: async () => (await import("./Palette")).Palette,
  close: () => openPalette(false),
});
const kApple = /Mac|iP(hone|ad)/.test(navigator.platform);

function SearchButton() {
  const open = usePalette((state) => state.open);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      openPalette(true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button
        type="button"
        className="search-button"
        data-testid="search-everything"
        onClick={() => openPalette(true)}
      >
        <span>Search runs, metrics, actions</span>
        <span className="key">{kApple ? "⌘ K" : "Ctrl K"}</span>
      </button>
      {open && <Palette />}
    </>
  );
}

const kMeaning = {
  live: "Live: new data appear automatically",
  offline: "The server does not answer",
  connecting: "Connecting to the server",
};

function LiveIndicator() {
  const state = useLive((live) => live.state);
  return (
    <span
      className={`status status-${state}`}
      title={kMeaning[state]}
      role="status"
      data-testid="live"
    >
      {state}
    </span>
  );
}

function OfflineBanner() {
  const state = useLive((live) => live.state);
  const since = useLive((live) => live.since);
  if (state !== "offline") return null;
  const at = new Date(since).toLocaleTimeString("en-GB");
  return (
    <p className="banner" role="alert">
      The server at {location.host} has not answered since {at}. Shown data may be out of date; the
      page retries every 3 s.
    </p>
  );
}
