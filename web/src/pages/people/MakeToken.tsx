// Makes an access token of a user, and shows it: the server keeps only its hash.
import { type FormEvent, useState } from "react";
import { kRoles, type PeopleChanges, type User } from "../../api/people";
import { Choice } from "../../app/fields";
import { useModal } from "../../app/useModal";

const kDays = 90;
const kMostDays = 366;

interface MakeTokenProps {
  user: Pick<User, "name" | "role">;
  changes: PeopleChanges;
}

export function MakeToken(props: MakeTokenProps) {
  const [open, setOpen] = useState(false);
  const title = `New token for ${props.user.name}`;
  return (
    <>
      <button type="button" className="link" aria-label={title} onClick={() => setOpen(true)}>
        New token
      </button>
      {open && <Dialog {...props} title={title} close={() => setOpen(false)} />}
    </>
  );
}

function Dialog({
  user,
  changes,
  title,
  close,
}: MakeTokenProps & { title: string; close: () => void }) {
  const dialog = useModal();
  const [made, setMade] = useState("");
  return (
    <dialog ref={dialog} className="dialog" aria-label={title} onClose={close}>
      <div className="dialog-body">
        <h2>{title}</h2>
        {made === "" ? (
          <Form user={user} changes={changes} done={setMade} />
        ) : (
          <Made token={made} />
        )}
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          {made === "" ? "Cancel" : "Close"}
        </button>
      </div>
    </dialog>
  );
}

function Form({ user, changes, done }: MakeTokenProps & { done: (token: string) => void }) {
  const [label, setLabel] = useState("");
  const [role, setRole] = useState(user.role);
  const [days, setDays] = useState(kDays);
  const allowed = kRoles.slice(0, kRoles.indexOf(user.role) + 1);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const made = await changes.addToken({ user: user.name, label: label.trim(), role, days });
    if (made !== undefined) done(made.token);
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <label className="form-line">
        <span>For</span>
        <input
          type="text"
          placeholder="laptop"
          maxLength={200}
          value={label}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      <Choice
        label="May"
        value={role}
        options={allowed.map((one) => [one, one] as const)}
        change={setRole}
      />
      <label className="form-line">
        <span>Days</span>
        <input
          type="number"
          min={1}
          max={kMostDays}
          required
          value={Number.isNaN(days) ? "" : days}
          onChange={(event) => setDays(event.currentTarget.valueAsNumber)}
        />
      </label>
      {changes.failed !== null && <p role="alert">{changes.failed}</p>}
      <button type="submit" className="button">
        Make the token
      </button>
    </form>
  );
}

const Made = ({ token }: { token: string }) => (
  <div className="form">
    <p>Nobody can show it again. Keep it in a file of mode 0600, or sign in with it.</p>
    <input
      type="text"
      readOnly
      aria-label="The new token"
      className="people-token"
      value={token}
      onFocus={(event) => event.currentTarget.select()}
    />
  </div>
);
