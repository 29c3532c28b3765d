// `/device`: a person types the code that a program shows (`corral login URL --browser`), sees what asks, and lets it
// act for them, or refuses it.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useMe } from "../../api/access";
import { getJson, sendJson } from "../../api/client";
import { kRoles, type Role } from "../../api/people";
import { Choice } from "../../app/fields";
import { Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { PanelWithBasket } from "../basket/BasketPanel";
import { ExperimentTree } from "../runs/ExperimentTree";

// A program that waits for an answer.
interface Asking {
  code: string;
  // Its own name for itself, and from where it asked.
  client: string;
  address: string | null;
}

type Step =
  | { at: "code" }
  | { at: "answer"; asking: Asking }
  | { at: "done"; asking: Asking; allowed: boolean };

const pathOf = (code: string) => `/device-codes/${encodeURIComponent(code)}`;

export function DevicePage() {
  const me = useMe();
  const [step, setStep] = useState<Step>({ at: "code" });
  const [failed, setFailed] = useState("");
  useTitle("Sign in a program");
  const act = async (doing: Promise<Step>) => {
    try {
      setStep(await doing);
      setFailed("");
    } catch (reason) {
      setFailed(reason instanceof Error ? reason.message : "It failed.");
    }
  };
  const client = useQueryClient();
  const look = (code: string) =>
    client
      .fetchQuery({
        queryKey: ["device", code],
        queryFn: ({ signal }) => getJson<Asking>(pathOf(code), {}, signal),
        retry: false,
      })
      .then((asking): Step => ({ at: "answer", asking }));
  const answer = (asking: Asking, role: Role | null) =>
    sendJson(
      "PUT",
      pathOf(asking.code),
      role === null ? { allow: false } : { allow: true, role },
    ).then((): Step => ({ at: "done", asking, allowed: role !== null }));
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Sign in a program"]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={{}} elsewhere />
        </PanelWithBasket>
      }
      toolbar={<h1>Sign in a program</h1>}
      footer={null}
    >
      {me !== undefined && !me.users ? (
        <Notice>
          <p>This store has no users: programs need no token.</p>
        </Notice>
      ) : (
        <div className="content">
          <div className="about device" data-testid="device">
            {step.at === "code" && <CodeForm look={(code) => act(look(code))} />}
            {step.at === "answer" && (
              <Question
                asking={step.asking}
                me={me}
                answer={(role) => act(answer(step.asking, role))}
              />
            )}
            {step.at === "done" && <p role="status">{outcome(step.asking, step.allowed)}</p>}
            {failed !== "" && <p role="alert">{failed}</p>}
          </div>
        </div>
      )}
    </Shell>
  );
}

const outcome = ({ client }: Asking, allowed: boolean) =>
  allowed
    ? `${client} may sign in now. Its token will be listed under “Your access tokens”, where you can revoke it.`
    : `${client} was refused.`;

function CodeForm({ look }: { look: (code: string) => Promise<void> }) {
  const [code, setCode] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void look(code.trim());
  };
  return (
    <form className="form" onSubmit={submit}>
      <label className="form-line">
        <span>Code that the program shows</span>
        <input
          type="text"
          className="device-code"
          placeholder="BCDF-GHJK"
          maxLength={20}
          autoComplete="off"
          spellCheck={false}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
      </label>
      <button type="submit" className="button" disabled={code.trim() === ""}>
        Continue
      </button>
    </form>
  );
}

interface QuestionProps {
  asking: Asking;
  me: ReturnType<typeof useMe>;
  answer: (role: Role | null) => void;
}

function Question({ asking, me, answer }: QuestionProps) {
  const allowed = kRoles.slice(0, kRoles.indexOf((me?.role ?? "reader") as Role) + 1);
  const [role, setRole] = useState<Role>(allowed.includes("writer") ? "writer" : "reader");
  return (
    <div className="form">
      <p>
        A program that calls itself <strong>{asking.client}</strong> asks to act for you, {me?.user}
        .
      </p>
      <p>It asked from {asking.address === null ? "an unknown address" : asking.address}.</p>
      <p className="quiet">Allow it only if you started it yourself.</p>
      <Choice
        label="May"
        value={role}
        options={allowed.map((one) => [one, one] as const)}
        change={setRole}
      />
      <div className="device-answers">
        <button type="button" className="button" onClick={() => answer(role)}>
          Allow
        </button>
        <button type="button" className="button" onClick={() => answer(null)}>
          Refuse
        </button>
      </div>
    </div>
  );
}
