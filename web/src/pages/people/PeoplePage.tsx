// `/people`: who may use the store, their access tokens, and who did what. Others than admins see their own tokens.
import { useMe } from "../../api/access";
import { usePeopleChanges } from "../../api/people";
import { Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { PanelWithBasket } from "../basket/BasketPanel";
import { ExperimentTree } from "../runs/ExperimentTree";
import { AuditTable } from "./AuditTable";
import { MakeToken } from "./MakeToken";
import { SpaceTable } from "./SpaceTable";
import { TeamTable } from "./TeamTable";
import { TokenTable } from "./TokenTable";
import { NewUser, UserTable } from "./UserTable";

export function PeoplePage() {
  const me = useMe();
  const changes = usePeopleChanges();
  const admin = me?.role === "admin";
  useTitle("People");
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "People"]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={{}} elsewhere />
        </PanelWithBasket>
      }
      toolbar={
        <>
          <h1>{admin ? "People" : "Your access tokens"}</h1>
          <span className="grow" />
          {me?.users && admin && <NewUser add={changes.addUser} />}
          {me?.users && !admin && me.user !== null && (
            <MakeToken user={{ name: me.user, role: me.role }} changes={changes} />
          )}
        </>
      }
      footer={changes.failed === null ? null : <span role="alert">{changes.failed}</span>}
    >
      {me === undefined ? (
        <Loading what="people" />
      ) : !me.users ? (
        <Notice>
          <p>This store has no users: everyone who reaches its server may do everything.</p>
          <p>
            <code>corral serve --auth users</code> asks each person for a token of their own.
          </p>
        </Notice>
      ) : (
        <div className="content">
          <div className="about people">
            {admin && <UserTable changes={changes} />}
            <TokenTable changes={changes} all={admin} />
            <SpaceTable changes={changes} admin={admin} />
            <TeamTable changes={changes} admin={admin} />
            {admin && <AuditTable />}
          </div>
        </div>
      )}
    </Shell>
  );
}
