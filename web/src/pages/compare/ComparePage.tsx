// `/compare`: groups of runs beside the first one: how many times as much, how sure that is, whether it matters, and
// where it comes from. The address is the question.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useComparison } from "../../api/compare";
import { Comparison } from "./Comparison";
import { GroupPage } from "./GroupPage";
import { compareSearch, questionOf } from "./search";

const route = getRouteApi("/compare");

export function ComparePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const enough = (search.group?.length ?? 0) > (search.by === undefined ? 1 : 0);
  const question = useMemo(() => (enough ? questionOf(search) : undefined), [search, enough]);
  const answer = useComparison(question ?? null);
  const runs = answer.data?.groups.flatMap(({ units }) => units.flatMap((unit) => unit.runs)) ?? [];
  return (
    <GroupPage
      verb="compare"
      search={search}
      set={(part) => void navigate({ search: (old) => compareSearch({ ...old, ...part }) })}
      question={question}
      answer={answer}
      runs={runs.map(({ id }) => id)}
      advice={
        <>
          <p>A comparison needs two groups or more, or one and a field that divides it.</p>
          <p>
            Name groups in the side panel: runs of one name, a workload, a run, or a filter such as{" "}
            <code>params.batch = '32'</code>. Runs ticked in the <Link to="/">list</Link> can be
            one, too.
          </p>
        </>
      }
    >
      {(found) => <Comparison found={found} />}
    </GroupPage>
  );
}
