// The frame of a comparison and of a history: the question at the left, the answer, the command that gives the same. An
// answer stays, dimmed, until the next one comes.
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { CompareQuestion } from "../../api/compare";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { Command } from "./Command";
import { GroupForm, type HistoryChoice } from "./GroupForm";
import { commandOf, type HistorySearch, kPages } from "./search";

export interface GroupPageProps<T> {
  verb: keyof typeof kPages;
  search: HistorySearch;
  set: (part: HistoryChoice) => void;
  // undefined: nothing is asked yet; null: the margin is not a share.
  question: CompareQuestion | null | undefined;
  answer: UseQueryResult<T>;
  // The runs of the answer.
  runs: readonly string[];
  // The next step while nothing is asked.
  advice: ReactNode;
  children: (found: T) => ReactNode;
}

const kSample = 3;

export function GroupPage<T>(props: GroupPageProps<T>) {
  const { verb, search, set, runs } = props;
  const { title } = kPages[verb];
  const other = kPages[verb === "compare" ? "history" : "compare"];
  useTitle(title);
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, title]}
      panel={
        <GroupForm
          search={search}
          set={set}
          sample={runs.slice(-kSample)}
          history={verb === "history"}
        />
      }
      toolbar={
        <>
          <h1>{title}</h1>
          <span className="grow" />
          {search.group && (
            <Link to={other.to} search={{ ...search }} className="link">
              {other.title}
            </Link>
          )}
        </>
      }
      footer={null}
    >
      <Body {...props} />
    </Shell>
  );
}

function Body<T>({ verb, search, question, answer, advice, children }: GroupPageProps<T>) {
  if (question === undefined) return <Notice>{advice}</Notice>;
  if (question === null)
    return (
      <Notice>
        <p>The margin is not a share.</p>
        <p>Expected one such as 2% or 0.02, below 100%.</p>
      </Notice>
    );
  if (answer.error) return <Failing error={answer.error} retry={() => void answer.refetch()} />;
  if (answer.data === undefined) return <Loading what="the runs and their steps" />;
  return (
    <div className={answer.isPlaceholderData ? "content stale" : "content"}>
      <div className="about" data-testid="answered">
        {children(answer.data)}
        <Command command={commandOf(verb, search)} />
      </div>
    </div>
  );
}
