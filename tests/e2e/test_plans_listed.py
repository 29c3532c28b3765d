"""`corral ls workloads` and `ls plans`: who shared what, how runs ended, how far plans are."""

from __future__ import annotations

import csv
import io
import json

from support import Corral, Json, until

PLAN = "00112233445566778899aabbccddeeff"


def tags(**values: str) -> list[str]:
    return [word for key, value in values.items() for word in ("--tag", f"corral.{key}={value}")]


def until_listed(corral: Corral, name: str) -> None:
    until(lambda: [r for r in corral.runs() if r["name"] == name], f"{name} is listed")


def test_workloads_say_who_shared_what_and_how_it_ended(corral: Corral) -> None:
    """Two runs that surely meet on a device, a third one on another."""
    corral.serve()
    gone = corral.home / "gone"
    hold = ("--", "sh", "-c", f"while [ ! -e {gone} ]; do sleep 0.02; done")
    common = ("run", "--quiet", "--no-listeners", "--experiment", "study", "--workload", "7")
    on = tags(devices='[{"device": "0"}]', collocation="mps", cpus="0-1")
    beside = tags(devices='[{"device": "1", "instance": "MIG-x", "profile": "3g.20gb"}]', collocation="3g.20gb")
    holding = corral.start(*common, "--name", "first", *on, *hold)
    until_listed(corral, "first")
    corral(*common, "--name", "second", *on, "--", "sh", "-c", "exit 3", status=3)
    corral(*common, "--name", "third", *beside, "--", "true")
    other = ("run", "--quiet", "--no-listeners", "--experiment", "letters", "--workload", "8", "--name", "guest")
    corral(*other, *tags(devices='[{"device": "0"}]'), "--", "true")
    gone.touch()
    assert holding.wait() == 0
    for name in ("first", "second", "third", "guest"):
        corral.wait_ended(name)
    corral("run", "--quiet", "--no-listeners", "--experiment", "study", "--name", "single", "--", "true")
    corral.wait_ended("single")

    by_name = {w["name"]: w for w in corral.json("ls", "workloads")}
    seven = by_name["7"]
    assert (seven["experiment"], len(seven["runs"])) == ("study", 3)
    assert seven["collocation"] == "mps, 3g.20gb"
    assert seven["devices"] == "0, cpus 0-1, 1:3g.20gb"
    assert seven["shared"] == "gpu0: first + second + 8/guest; cpus 0-1: first + second"
    assert by_name["8"]["shared"] == "gpu0: guest + 7/first"
    ends = {r["name"]: r["outcome"] or r["status"] for r in corral.runs()}
    assert ends["second"] == "failed"
    assert seven["outcomes"] == "2 finished, 1 failed"
    (single,) = [w for w in by_name.values() if w["name"] not in ("7", "8")]
    assert (single["shared"], single["devices"], single["outcomes"]) == ("", "", "1 finished")

    (row, _) = sorted(
        csv.DictReader(
            io.StringIO(corral("ls", "workloads", "--experiment", "study", "--format", "csv").stdout.decode())
        ),
        key=lambda r: r["name"] != "7",
    )
    assert row["shared"] == seven["shared"]
    table = corral("ls", "workloads", "--experiment", "study").stdout.decode()
    assert "gpu0: first + second" in table


def put(corral: Corral, document: Json) -> tuple[int, Json]:
    connection = corral.connection()
    connection.request(
        "PUT", f"/api/corral/v1/plans/{PLAN}", json.dumps(document), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body


def test_plans_are_listed_with_counts_and_outlive_the_server(corral: Corral) -> None:
    corral.serve()
    assert corral("ls", "plans").stderr.decode() == "no plans yet\n"
    run = {"key": "k", "line": 2, "experiment": "study", "workload": "1", "state": "finished"}
    document = {
        "file": "plan.csv",
        "host": "node7",
        "state": "running",
        "updated_ns": "1763712000000000000",
        "message": "cooling down",
        "runs": [run, run | {"state": "out-of-memory"}, run | {"workload": "2", "state": "waiting"}],
    }
    assert put(corral, document)[0] == 200
    corral("serve", "--stop")
    corral.serve()
    (plan,) = corral.json("ls", "plans")
    assert plan["id"] == PLAN
    assert (plan["file"], plan["host"], plan["state"], plan["message"]) == (
        "plan.csv",
        "node7",
        "running",
        "cooling down",
    )
    assert (plan["runs"], plan["workloads"]) == (3, 2)
    assert plan["counts"] == {"finished": 1, "out-of-memory": 1, "waiting": 1}
    assert "1 finished, 1 out-of-memory, 1 waiting" in corral("ls", "plans").stdout.decode()
    assert corral.get(f"/api/corral/v1/plans/{PLAN}") == document

    status, body = put(corral, document | {"runs": [run, run | {"state": "?"}]})
    assert (status, body["error"]["field"]) == (400, "runs[1].state")
    assert corral("ls", "plan", status=2).stderr.decode().count("plans") >= 1
