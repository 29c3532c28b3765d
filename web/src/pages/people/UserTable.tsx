// The users of the store: their roles, whether their tokens count, and the way to a new one.
import { type FormEvent, useState } from "react";
import { kRoles, type PeopleChanges, type Role, type User, useUsers } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { Rows } from "../../app/Rows";
import { formatExactMoment, formatMoment } from "../../format/time";
import { MakeToken } from "./MakeToken";
import { Sure } from "./Sure";

const kShown = 200;

export function UserTable({ changes }: { changes: PeopleChanges }) {
  const users = useUsers();
  if (users.data === undefined && users.error)
    return <Failing error={users.error} retry={() => void users.refetch()} />;
  if (users.data === undefined) return <Loading what="people" />;
  return (
    <section aria-label="People">
      <Rows
        label="People"
        most={kShown}
        rows={users.data}
        columns={[
          { name: "Name", cell: ({ name }) => name },
          { name: "Written as", left: true, cell: ({ display }) => display ?? "–" },
          { name: "Role", left: true, cell: (user) => <RoleOf user={user} changes={changes} /> },
          {
            name: "Since",
            left: true,
            cell: ({ created_ns }) => (
              <span className="quiet" title={formatExactMoment(created_ns)}>
                {formatMoment(created_ns, new Date())}
              </span>
            ),
          },
          {
            name: "Change",
            left: true,
            cell: (user) => <ActionsOn user={user} changes={changes} />,
          },
        ]}
      />
    </section>
  );
}

interface OfUser {
  user: User;
  changes: PeopleChanges;
}

const RoleOf = ({ user, changes }: OfUser) => (
  <select
    aria-label={`Role of ${user.name}`}
    value={user.role}
    onChange={(event) =>
      void changes.changeUser(user.name, { role: event.currentTarget.value as Role })
    }
  >
    {kRoles.map((role) => (
      <option key={role}>{role}</option>
    ))}
  </select>
);

const ActionsOn = ({ user, changes }: OfUser) => (
  <span className="people-actions">
    {!user.disabled && <MakeToken user={user} changes={changes} />}
    <button
      type="button"
      className="link"
      aria-label={`${user.disabled ? "Enable" : "Disable"} ${user.name}`}
      title={user.disabled ? "Accept their tokens again" : "Refuse all of their tokens"}
      onClick={() => void changes.changeUser(user.name, { disabled: !user.disabled })}
    >
      {user.disabled ? "Enable" : "Disable"}
    </button>
    <Sure
      action="Delete"
      title={`Delete ${user.name}`}
      act={() => void changes.deleteUser(user.name)}
    >
      This cannot be undone. All tokens of {user.name} are deleted, too; what they recorded stays.
    </Sure>
    {user.disabled && <span className="status status-failed">disabled</span>}
  </span>
);

export function NewUser({ add }: { add: PeopleChanges["addUser"] }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("writer");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "" && (await add(name.trim(), role)) !== undefined) setName("");
  };
  return (
    <form className="finder" onSubmit={(event) => void submit(event)}>
      <input
        type="text"
        aria-label="Name of a new user"
        placeholder="New user"
        title="a-z, 0-9, '.', '-' and '_'"
        autoComplete="off"
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <select
        aria-label="Role of the new user"
        value={role}
        onChange={(event) => setRole(event.currentTarget.value as Role)}
      >
        {kRoles.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <button type="submit" className="button" disabled={name.trim() === ""}>
        Add
      </button>
    </form>
  );
}
