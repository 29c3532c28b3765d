// Teams: users who are let into spaces together. Admins let people in and out; others see their own.
import { type PeopleChanges, type Team, useTeams, useUsers } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { type Column, Rows } from "../../app/Rows";
import { Members, NameForm } from "./Members";
import { Sure } from "./Sure";

const kShown = 200;

export function TeamTable({ changes, admin }: { changes: PeopleChanges; admin: boolean }) {
  const teams = useTeams();
  if (teams.data === undefined && teams.error)
    return <Failing error={teams.error} retry={() => void teams.refetch()} />;
  if (teams.data === undefined) return <Loading what="teams" />;
  if (teams.data.length === 0 && !admin) return null;
  const columns: Column<Team>[] = [
    { name: "Team", cell: ({ name }) => `@${name}` },
    {
      name: "Members",
      left: true,
      cell: (team) =>
        admin ? <TeamMembers team={team} changes={changes} /> : team.members.join(", ") || "–",
    },
    { name: "Group at the provider", left: true, cell: ({ group }) => group ?? "–" },
  ];
  if (admin) {
    columns.push({
      name: "Change",
      left: true,
      cell: ({ name }) => (
        <Sure
          action="Delete"
          title={`Delete the team ${name}`}
          act={() => void changes.deleteTeam(name)}
        >
          This cannot be undone. The members of {name} leave the spaces that it was let into.
        </Sure>
      ),
    });
  }
  return (
    <section aria-label="Teams">
      <div className="people-actions">
        <h2>Teams</h2>
        {admin && <NameForm what="team" add={changes.addTeam} />}
      </div>
      <p className="quiet">The members of a team are let into spaces together.</p>
      {teams.data.length > 0 && (
        <Rows label="Teams" most={kShown} rows={teams.data} columns={columns} />
      )}
    </section>
  );
}

function TeamMembers({ team, changes }: { team: Team; changes: PeopleChanges }) {
  const users = useUsers().data ?? [];
  return (
    <Members
      of={team}
      candidates={users.map(({ name }) => name)}
      change={(to) => void changes.changeTeam(team.name, to)}
    />
  );
}
