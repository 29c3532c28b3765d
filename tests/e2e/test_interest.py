"""The interest of a run: a change that a script plants in a metric, and what is folded."""

from __future__ import annotations

import pytest
from support import Corral

# 200 steps of 10 ms; the loss jumps at step 120, and its copy with it.
TRAIN = """
    import corral, random, time
    make = random.Random(7)
    with corral.phase("epoch", kind="control"):
        for step in range(200):
            with corral.phase("step"):
                time.sleep(0.01)
                loss = make.gauss(0, 0.1) + (2 if step < 120 else 5)
                corral.log({"loss": loss, "loss_copy": 3 * loss - 1, "rate": 0.001, "hum": make.gauss(0, 1)})
"""


@pytest.fixture
def trained(corral: Corral) -> Corral:
    corral("run", "--quiet", "--name", "train", corral.script("train.py", TRAIN))
    return corral


def test_a_planted_change_is_a_region_and_series_are_classed(trained: Corral) -> None:
    found = trained.get("/api/corral/v1/runs/train/interest")
    assert found["columns"] == {"unit": "step", "length": 1.0, "count": 200}
    series = {one["metric"]: one for one in found["series"]}
    assert series["loss"]["class"] == "steps"
    assert (series["loss_copy"]["class"], series["loss_copy"]["of"]) == ("duplicate", series["loss"]["series"])
    assert series["rate"]["class"] == "constant"
    assert series["hum"]["class"] == "noise"
    assert series["loss"]["interest"] > series["hum"]["interest"]
    moved = {one["metric"]: (region, one) for region in found["regions"] for one in region["moved"]}
    region, loss = moved["loss"]
    assert (loss["before"], loss["after"]) == pytest.approx((2, 5), abs=0.1)
    assert region["to_end"] or region["moved"][0] != loss
    assert region["text"].startswith("From ")
    assert "loss_copy" not in moved, "it is folded"
    steps = trained.json("ls", "phases", "train")
    begins = sorted(int(phase["start_ns"]) for phase in steps if phase["name"] == "step")
    assert begins[118] <= int(loss["at_ns"]) <= begins[122]
    # Others that jumped with it are known to a few of their own points, ten a second.
    assert abs(int(region["from_ns"]) - begins[120]) <= 500_000_000


def test_metrics_are_listed_by_interest_and_explain_has_the_regions(trained: Corral) -> None:
    done = trained("ls", "metrics", "train", "--interesting")
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    assert rows[0][:4] == ["NAME", "SOURCE", "CLASS", "INTEREST"]
    names = [row[0] for row in rows]
    assert names.index("loss") < names.index("hum")
    assert not {"rate", "loss_copy"} & set(names)
    assert " duplicate" in done.stderr.decode()
    assert "--all shows them" in done.stderr.decode()
    whole = trained("ls", "metrics", "train", "--interesting", "--all").stdout.decode()
    (copy,) = [line.split() for line in whole.splitlines() if line.startswith("loss_copy ")]
    assert (copy[2], copy[-1]) == ("duplicate", "loss")
    listed = trained.json("ls", "metrics", "train", "--interesting")
    assert {one["metric"] for one in listed} >= {"loss", "loss_copy", "rate", "hum"}
    text = trained("explain", "train").stdout.decode()
    assert "Worth looking at\n" in text
    assert "## Worth looking at\n" in trained("explain", "train", "--format", "markdown").stdout.decode()


def test_a_window_and_wrong_questions(trained: Corral) -> None:
    path = "/api/corral/v1/runs/train/interest"
    begin = int(trained.get(path)["from_ns"])
    found = trained.get(f"{path}?from_ns={begin}&to_ns={begin + 1_000_000_000}")
    assert int(found["to_ns"]) == begin + 1_000_000_000
    assert "loss" not in {one["metric"] for region in found["regions"] for one in region["moved"]}
    error = trained("ls", "runs", "--interesting", status=2).stderr.decode()
    assert "corral ls metrics RUN --interesting" in error
    assert "--all needs --interesting" in trained("ls", "metrics", "train", "--all", status=2).stderr.decode()
