// The user that this page is signed in as, if the server asks each person for a token.
import { useQuery } from "@tanstack/react-query";
import { create } from "zustand";
import { getJson, whenSignedOut } from "./client";
import type { Role } from "./people";

interface Me {
  // False: the server does not ask who somebody is.
  users: boolean;
  user: string | null;
  role: Role;
}

export const useSignedOut = create<{ signedOut: boolean }>(() => ({ signedOut: false }));
whenSignedOut(() => useSignedOut.setState({ signedOut: true }));

export function useMe() {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => getJson<Me>("/me", {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
}
