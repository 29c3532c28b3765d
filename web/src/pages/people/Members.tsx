// The members of a space or a team, with a way in and out; and the form that makes a new one.
import { type FormEvent, useState } from "react";

interface MembersProps {
  of: { name: string; members: string[] };
  // Names of all who could be members.
  candidates: string[];
  change: (to: { add?: string[]; remove?: string[] }) => void;
}

export function Members({ of, candidates, change }: MembersProps) {
  const others = candidates.filter((name) => !of.members.includes(name));
  return (
    <span className="people-actions">
      {of.members.map((name) => (
        <button
          type="button"
          className="link"
          key={name}
          aria-label={`Remove ${name} from ${of.name}`}
          title={`Remove ${name}`}
          onClick={() => change({ remove: [name] })}
        >
          {name} ×
        </button>
      ))}
      {others.length > 0 && (
        <select
          aria-label={`Let somebody into ${of.name}`}
          value=""
          onChange={(event) => change({ add: [event.currentTarget.value] })}
        >
          <option value="">Add…</option>
          {others.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </span>
  );
}

interface NameFormProps {
  what: "space" | "team";
  add: (name: string) => Promise<unknown>;
}

export function NameForm({ what, add }: NameFormProps) {
  const [name, setName] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "" && (await add(name.trim())) !== undefined) setName("");
  };
  return (
    <form className="finder" onSubmit={(event) => void submit(event)}>
      <input
        type="text"
        aria-label={`Name of a new ${what}`}
        placeholder={`New ${what}`}
        title="a-z, 0-9, '-' and '_'"
        autoComplete="off"
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <button
        type="submit"
        className="button"
        aria-label={`Create the ${what}`}
        disabled={name.trim() === ""}
      >
        Create
      </button>
    </form>
  );
}
