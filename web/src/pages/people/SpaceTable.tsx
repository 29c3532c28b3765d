// The spaces of the store and their members. Admins let people in and out; others see their own.
import { type FormEvent, useState } from "react";
import { type PeopleChanges, type Space, useSpaces, useUsers } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { Rows } from "../../app/Rows";
import { formatExactMoment, formatMoment } from "../../format/time";
import { Sure } from "./Sure";

const kShown = 200;

export function SpaceTable({ changes, admin }: { changes: PeopleChanges; admin: boolean }) {
  const spaces = useSpaces();
  if (spaces.data === undefined && spaces.error)
    return <Failing error={spaces.error} retry={() => void spaces.refetch()} />;
  if (spaces.data === undefined) return <Loading what="spaces" />;
  if (spaces.data.length === 0 && !admin) return null;
  return (
    <section aria-label="Spaces">
      <div className="people-actions">
        <h2>Spaces</h2>
        {admin && <NewSpace add={changes.addSpace} />}
      </div>
      <p className="quiet">
        Only the members of a space see the experiments whose names begin with its name and “/”.
      </p>
      {spaces.data.length > 0 && (
        <Rows
          label="Spaces"
          most={kShown}
          rows={spaces.data}
          columns={[
            { name: "Space", cell: ({ name }) => `${name}/` },
            {
              name: "Members",
              left: true,
              cell: (space) =>
                admin ? (
                  <Members space={space} changes={changes} />
                ) : (
                  space.members.join(", ") || "–"
                ),
            },
            {
              name: "Since",
              left: true,
              cell: ({ created_ns }) => (
                <span className="quiet" title={formatExactMoment(created_ns)}>
                  {formatMoment(created_ns, new Date())}
                </span>
              ),
            },
            ...(admin
              ? [
                  {
                    name: "Change",
                    left: true,
                    cell: (space: Space) => (
                      <Sure
                        action="Open"
                        title={`Open ${space.name} to everybody`}
                        act={() => void changes.openSpace(space.name)}
                      >
                        The space {space.name} is deleted, and everybody sees what lies in it.
                        Nothing of it is deleted.
                      </Sure>
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
    </section>
  );
}

function Members({ space, changes }: { space: Space; changes: PeopleChanges }) {
  const users = useUsers();
  const others = (users.data ?? []).filter(({ name }) => !space.members.includes(name));
  return (
    <span className="people-actions">
      {space.members.map((name) => (
        <button
          type="button"
          className="link"
          key={name}
          aria-label={`Remove ${name} from ${space.name}`}
          title={`Remove ${name}`}
          onClick={() => void changes.changeSpace(space.name, { remove: [name] })}
        >
          {name} ×
        </button>
      ))}
      {others.length > 0 && (
        <select
          aria-label={`Let somebody into ${space.name}`}
          value=""
          onChange={(event) =>
            void changes.changeSpace(space.name, { add: [event.currentTarget.value] })
          }
        >
          <option value="">Add…</option>
          {others.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </span>
  );
}

function NewSpace({ add }: { add: PeopleChanges["addSpace"] }) {
  const [name, setName] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "" && (await add(name.trim())) !== undefined) setName("");
  };
  return (
    <form className="finder" onSubmit={(event) => void submit(event)}>
      <input
        type="text"
        aria-label="Name of a new space"
        placeholder="New space"
        title="a-z, 0-9, '-' and '_'"
        autoComplete="off"
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" className="button" disabled={name.trim() === ""}>
        Create
      </button>
    </form>
  );
}
