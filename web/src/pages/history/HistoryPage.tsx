// `/history`: how the value of groups changed from run to run, and between which commits. The address is the question.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useHistories } from "../../api/compare";
import { GroupPage } from "../compare/GroupPage";
import { historySearch, questionOf } from "../compare/search";
import { History } from "./History";

const route = getRouteApi("/history");

export function HistoryPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const question = useMemo(() => (search.group ? questionOf(search) : undefined), [search]);
  const answer = useHistories(question ?? null);
  const units = answer.data?.histories.flatMap((one) => one.units) ?? [];
  return (
    <GroupPage
      verb="history"
      search={search}
      set={(part) => void navigate({ search: (old) => historySearch({ ...old, ...part }) })}
      question={question}
      answer={answer}
      runs={units.flatMap((unit) => unit.runs)}
      advice={
        <>
          <p>No group is chosen.</p>
          <p>
            Name one in the side panel: runs of one name, such as a nightly one, or a filter. Or
            tick runs in the <Link to="/">list</Link>.
          </p>
        </>
      }
    >
      {({ value, margin, at_least, at_most, histories }) =>
        histories.map((one, i) => (
          <History
            // biome-ignore lint/suspicious/noArrayIndexKey: a history is its place
            key={i}
            history={one}
            value={value}
            margin={margin}
            atLeast={at_least}
            atMost={at_most}
          />
        ))
      }
    </GroupPage>
  );
}
