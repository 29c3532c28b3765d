"""explain(), workflow() and collocation(): where the time and the energy of a run or of several went, from a server."""

from __future__ import annotations

import contextlib
import os
from typing import Any
from urllib.parse import quote, urlencode

from corral._read import bounds
from corral._server import Server, find_server, get
from corral._stream import EARLIEST, LATEST


def explain(
    run: str,
    *,
    metric: str | None = None,
    source: str | None = None,
    lane: str | None = None,
    start: Any = None,
    end: Any = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    """Returns where the time of a run went, which part is steady, which epochs are odd, and its energy: the document
    of `corral explain --format json`, described in docs/analysis.md.

    With `metric`, and its `source` if it has several: how much of it each type of phases used instead.

    `run`: an id, unique prefix, name or "@1" for the newest; `lane`: only this one, as if it alone trained. `start` and
    `end` are as in `read`, as are `server`, `store` and `token`. LookupError: there is no such run, lane or
    metric; ValueError: the time is empty, or the metric has several sources.
    """
    if not isinstance(run, str) or not run:
        raise TypeError(f'corral: run must be a name, an id or "@1", not {run!r}')
    times, relative = bounds(start, end)
    place = find_server(server, store, token)
    path = "/api/corral/v1/runs/" + quote(run, safe="", errors="replace")
    origin = 0
    if relative:
        facts = get(place, path)
        path = f"/api/corral/v1/runs/{facts.get('id')}"  # "@1" may be another run by now
        origin = int(facts.get("start_ns") or 0)
    query = {key: str(min(max(origin + ns, EARLIEST), LATEST)) for key, ns in times.items()}
    times_asked = urlencode(query)
    asked = {"metric": metric, "source": source, "lane": lane}
    query |= {key: text for key, text in asked.items() if text is not None}
    what = "explain" if metric is None else "attribution"
    found = get(place, f"{path}/{what}?{urlencode(query, errors='replace')}")
    if metric is not None:
        return found
    found["footprint"] = None  # neither a lane nor an older server has one
    if lane is None:
        with contextlib.suppress(LookupError):
            found["footprint"] = get(place, f"/api/corral/v1/runs/{found['run']}/footprint?{times_asked}")
    return found


def workflow(
    group: str,
    *,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    """Returns how the runs of a plan, workload or experiment followed each other, and their energy together: the
    `workflow` of `corral explain GROUP --format json`, described in docs/analysis.md.

    `group`: a plan's file, a workload's name, or an id of one (a unique prefix of at least 4 digits); else an
    experiment's name. `server`, `store` and `token` are as in `read`. LookupError: there is no such group, or several.
    """
    place = find_server(server, store, token)
    return get(place, f"{_path_of(place, group)}/workflow")


def collocation(
    group: str,
    *,
    job: str | None = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    """Returns how much slower the runs of a plan, workload or experiment were beside others than alone: the document of
    `corral collocation GROUP --format json`, described in docs/shared-hardware.md.

    `job`: runs with the same one do the same ("params.model"); None: runs of one command do. All else is as in
    `workflow`.
    """
    place = find_server(server, store, token)
    query = "" if job is None else "?" + urlencode({"job": job})
    return get(place, f"{_path_of(place, group)}/collocation{query}")


def _path_of(place: Server, group: str) -> str:
    """The route of a plan, workload or experiment, without its last part."""
    if not isinstance(group, str) or not group:
        raise TypeError(f"corral: group must be a name, a file or an id, not {group!r}")
    file = os.path.basename(group)
    found = []
    for kind, member, name in (("workloads", "name", group), ("plans", "file", file)):
        found += [
            f"{kind}/{one['id']}"
            for one in get(place, f"/api/corral/v1/{kind}")[kind]
            if one.get(member) == name or (len(group) >= 4 and one["id"].startswith(group))
        ]
    if not found:
        experiments = get(place, "/api/corral/v1/experiments")["experiments"]
        found = [f"experiments/{one['id']}" for one in experiments if one["name"] == group]
    if len(found) != 1:
        what = "no workload, plan or experiment" if not found else f"{len(found)} workloads and plans are called"
        raise LookupError(f"corral: {what} {group!r}")
    return f"/api/corral/v1/{found[0]}"
