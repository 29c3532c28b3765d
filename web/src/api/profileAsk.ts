// A profile of a running run's next steps: asking for one, and how far the one that was asked for last is.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";

export interface ProfileAsk {
  id: string;
  tool: string;
  steps: number;
  state: "asked" | "waiting" | "running" | "saving" | "done" | "refused" | "failed";
  // Steps, once they are known.
  first?: number;
  last?: number;
  // The folder of what became of it.
  artifact?: string;
  // Why there is none.
  reason?: string;
}
interface Answer {
  profile: ProfileAsk | null;
}

const kPause = 1000;

export const isOver = ({ state }: Pick<ProfileAsk, "state">): boolean =>
  state === "done" || state === "refused" || state === "failed";

const pathOf = (run: string) => `/runs/${run}/profile`;

// Asked once, and again every second while a profile is on its way.
export function useProfileAsk(run: string) {
  const client = useQueryClient();
  const queryKey = ["profile-ask", run];
  const known = useQuery({
    queryKey,
    queryFn: ({ signal }) => getJson<Answer>(pathOf(run), {}, signal),
    select: ({ profile }) => profile,
    refetchInterval: ({ state: { data } }) =>
      data?.profile && !isOver(data.profile) ? kPause : false,
  });
  const asking = useMutation({
    mutationFn: (steps: number) => sendJson<Answer>("POST", pathOf(run), { tool: "torch", steps }),
    onSuccess: (answer) => client.setQueryData(queryKey, answer),
  });
  return {
    latest: known.data ?? null,
    ask: asking.mutate,
    asking: asking.isPending,
    error: asking.error,
  };
}
