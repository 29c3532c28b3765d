// The users of the store, their access tokens, and what was done: questions and changes.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "./client";

export const kRoles = ["reader", "writer", "owner", "admin"] as const;
export type Role = (typeof kRoles)[number];

export interface User {
  name: string;
  display: string | null;
  role: Role;
  // None of the user's tokens counts.
  disabled: boolean;
  created_ns: string;
}

export interface AccessToken {
  id: string;
  user: string;
  label: string | null;
  role: Role;
  created_ns: string;
  expires_ns: string;
  revoked_ns: string | null;
}

export interface Space {
  name: string;
  members: string[]; // names of users; "@" and that of a team
  created_ns: string;
}

export interface Team {
  name: string;
  members: string[]; // names of users
  group: string | null; // at the provider of sign-in
  created_ns: string;
}

export interface AuditEntry {
  id: string;
  time_ns: string;
  user: string | null;
  address: string | null;
  request: string;
  detail: string | null;
  // The status of the answer; null: there was none.
  status: number | null;
}

const kPage = 100; // entries asked for at once

export const useUsers = () =>
  useQuery({
    queryKey: ["people", "users"],
    queryFn: ({ signal }) =>
      getJson<{ users: User[] }>("/users", {}, signal).then(({ users }) => users),
  });

// One's own; for admins those of all users.
export const useTokens = () =>
  useQuery({
    queryKey: ["people", "tokens"],
    queryFn: ({ signal }) =>
      getJson<{ tokens: AccessToken[] }>("/tokens", {}, signal).then(({ tokens }) => tokens),
  });

// One's own; for admins all of them.
export const useSpaces = () =>
  useQuery({
    queryKey: ["people", "spaces"],
    queryFn: ({ signal }) =>
      getJson<{ spaces: Space[] }>("/spaces", {}, signal).then(({ spaces }) => spaces),
  });

// One's own; for admins all of them.
export const useTeams = () =>
  useQuery({
    queryKey: ["people", "teams"],
    queryFn: ({ signal }) =>
      getJson<{ teams: Team[] }>("/teams", {}, signal).then(({ teams }) => teams),
  });

export const useAudit = () =>
  useInfiniteQuery({
    queryKey: ["people", "audit"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      getJson<{ entries: AuditEntry[] }>(
        "/audit",
        { limit: kPage, before: pageParam },
        signal,
      ).then(({ entries }) => entries),
    getNextPageParam: (last) => (last.length < kPage ? undefined : last.at(-1)?.id),
  });

export interface NewToken {
  user: string;
  label: string;
  role: Role;
  days: number;
}

const of = (name: string) => `/users/${encodeURIComponent(name)}`;
const ofTeam = (name: string) => `/teams/${encodeURIComponent(name)}`;
const ofSpace = (name: string) => `/spaces/${encodeURIComponent(name)}`;

// `failed`: why the last change failed; the changes return nothing then.
export function usePeopleChanges() {
  const client = useQueryClient();
  const [failed, setFailed] = useState<string | null>(null);
  const act = async <T>(doing: Promise<T>): Promise<T | undefined> => {
    try {
      const done = await doing;
      setFailed(null);
      return done;
    } catch (reason) {
      setFailed(reason instanceof Error ? reason.message : "It failed.");
      return undefined;
    } finally {
      await client.invalidateQueries({ queryKey: ["people"] }).catch(() => {});
    }
  };
  return {
    failed,
    addUser: (name: string, role: Role) => act(sendJson("POST", "/users", { name, role })),
    changeUser: (name: string, to: Partial<Pick<User, "role" | "disabled">>) =>
      act(sendJson("PUT", of(name), to)),
    deleteUser: (name: string) => act(sendJson("DELETE", of(name))),
    addSpace: (name: string) => act(sendJson("POST", "/spaces", { name })),
    changeSpace: (name: string, to: { add?: string[]; remove?: string[] }) =>
      act(sendJson("PUT", ofSpace(name), to)),
    openSpace: (name: string) => act(sendJson("DELETE", `${ofSpace(name)}?open=true`)),
    addTeam: (name: string) => act(sendJson("POST", "/teams", { name })),
    changeTeam: (name: string, to: { add?: string[]; remove?: string[] }) =>
      act(sendJson("PUT", ofTeam(name), to)),
    deleteTeam: (name: string) => act(sendJson("DELETE", ofTeam(name))),
    addToken: (token: NewToken) => act(sendJson<{ token: string }>("POST", "/tokens", token)),
    revokeToken: (id: string) => act(sendJson("DELETE", `/tokens/${encodeURIComponent(id)}`)),
  };
}

export type PeopleChanges = ReturnType<typeof usePeopleChanges>;
