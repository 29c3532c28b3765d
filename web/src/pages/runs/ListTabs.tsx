// Saved lists of runs as tabs below the toolbar, and the form that saves one. Each tab is a link that holds its whole
// list; one that is shown changed says so, and offers to save the change or to drop it.
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type Saved, useSaved } from "../../api/saved";
import { Dots } from "../../app/icons";
import { Popup } from "../../app/Popup";
import type { Column } from "./columns";
import { differs, listState, searchOf } from "./savedList";
import type { RunsSearch } from "./search";

const kMostName = 250; // characters, as the server has it

export interface ListTabsProps {
  search: RunsSearch;
  columns: readonly Column[];
  to: (next: RunsSearch, replace?: boolean) => void;
}

export function ListTabs({ search, columns, to }: ListTabsProps) {
  const lists = useSaved("lists");
  const here = lists.all.find(({ name }) => name === search.tab);
  if (lists.all.length === 0 && lists.failed === null) return null;
  const changed = here !== undefined && differs(here, search, columns);
  return (
    <div className="list-tabs" data-testid="list-tabs">
      <nav aria-label="Saved lists">
        <Tab search={{}} here={here === undefined}>
          All runs
        </Tab>
        {lists.all.map((list) => (
          <Tab key={list.name} search={searchOf(list)} here={list === here} title={list.name}>
            {list.name}
            {list === here && changed && (
              <span className="quiet" data-testid="list-changed">
                {" "}
                changed
              </span>
            )}
          </Tab>
        ))}
      </nav>
      <span className="grow" />
      {here !== undefined && changed && (
        <>
          <button
            type="button"
            className="link"
            data-testid="list-update"
            onClick={() => void lists.save(here.name, listState(search, columns), here.updated_ns)}
          >
            Save changes
          </button>
          <Link to="/" search={searchOf(here)} className="link" data-testid="list-reset">
            Reset
          </Link>
        </>
      )}
      {here !== undefined && (
        <Popup
          button={<Dots />}
          icon
          label={`Rename or delete ${here.name}`}
          className="icon-button small"
          testid="list-menu"
        >
          {(close) => (
            <TabMenu
              list={here}
              rename={async (name) => {
                close();
                if (await lists.rename(here, name)) to({ ...search, tab: name }, true);
              }}
              remove={async () => {
                close();
                const { tab: _tab, ...rest } = search;
                if (await lists.remove(here)) to(rest, true);
              }}
            />
          )}
        </Popup>
      )}
      {lists.failed !== null && (
        <span role="alert" data-testid="list-failed">
          {lists.failed}
        </span>
      )}
    </div>
  );
}

interface TabProps {
  search: RunsSearch;
  here: boolean;
  title?: string;
  children: ReactNode;
}

function Tab({ search, here, title, children }: TabProps) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (here) link.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [here]);
  return (
    <Link
      ref={link}
      to="/"
      search={search}
      className="cut name"
      title={title}
      // The router's own idea of "here" counts only what the address says in full.
      activeOptions={{ exact: true, includeSearch: true }}
      aria-current={here ? "page" : undefined}
      data-testid="list-tab"
    >
      {children}
    </Link>
  );
}

interface TabMenuProps {
  list: Saved;
  rename: (name: string) => void;
  remove: () => void;
}

function TabMenu({ list, rename, remove }: TabMenuProps) {
  return (
    <div className="form">
      <NameForm
        name={list.name}
        label="New name of the list"
        submit="Rename"
        ready={(name) => name !== list.name}
        take={rename}
      />
      <button type="button" className="link" data-testid="list-delete" onClick={remove}>
        Delete this list
      </button>
    </div>
  );
}

export function SaveList({ search, columns, to }: ListTabsProps) {
  const lists = useSaved("lists");
  const [name, setName] = useState("");
  const taken = lists.all.some((list) => list.name === name.trim());
  return (
    <Popup
      button="Save list"
      label="Save search, order and columns as a tab"
      className="button"
      testid="list-save"
    >
      {(close) => (
        <div className="form">
          <p className="quiet">
            {taken
              ? "Replaces the list of this name."
              : "A tab for everybody: search, filters, order and columns."}
          </p>
          <NameForm
            name=""
            label="Name of the list"
            submit={taken ? "Replace" : "Save"}
            ready={() => true}
            changed={setName}
            take={async (as) => {
              const state = listState(search, columns);
              if (!(await lists.save(as, state))) return;
              close();
              to(searchOf({ name: as, state }), true);
            }}
          />
          {lists.failed !== null && <p role="alert">{lists.failed}</p>}
        </div>
      )}
    </Popup>
  );
}

interface NameFormProps {
  name: string;
  label: string;
  submit: string;
  // True if this name can be taken; "" never can.
  ready: (name: string) => boolean;
  changed?: (name: string) => void;
  take: (name: string) => void;
}

function NameForm({ name, label, submit, ready, changed, take }: NameFormProps) {
  const [text, setText] = useState(name);
  const able = text.trim() !== "" && ready(text.trim());
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (able) take(text.trim());
  };
  return (
    <form className="finder" onSubmit={send}>
      <input
        type="text"
        aria-label={label}
        placeholder="Name"
        maxLength={kMostName}
        data-testid="list-name"
        // biome-ignore lint/a11y/noAutofocus: the person asked for this field
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          changed?.(event.currentTarget.value);
        }}
      />
      <button type="submit" className="button" disabled={!able}>
        {submit}
      </button>
    </form>
  );
}
