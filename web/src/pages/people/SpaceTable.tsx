// The spaces of the store and their members. Admins let people in and out; others see their own.
import { type PeopleChanges, type Space, useSpaces, useTeams, useUsers } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { Rows } from "../../app/Rows";
import { formatExactMoment, formatMoment } from "../../format/time";
import { Members, NameForm } from "./Members";
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
        {admin && <NameForm what="space" add={changes.addSpace} />}
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
                  <SpaceMembers space={space} changes={changes} />
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

function SpaceMembers({ space, changes }: { space: Space; changes: PeopleChanges }) {
  const users = useUsers().data ?? [];
  const teams = useTeams().data ?? [];
  return (
    <Members
      of={space}
      candidates={[...teams.map(({ name }) => `@${name}`), ...users.map(({ name }) => name)]}
      change={(to) => void changes.changeSpace(space.name, to)}
    />
  );
}
