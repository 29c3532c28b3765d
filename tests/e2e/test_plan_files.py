"""`corral plan check` and `corral plan expand`: what an experiment file says, and everything that is wrong with it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from support import BUILD, ROOT, Corral

PLANS = ROOT / "tests" / "fixtures" / "plans"
STUDY = ROOT / "examples" / "studies" / "collocation" / "published.yaml"
FAKE_DRIVER = BUILD / "fakes" / "gpu" / "libnvidia-ml.so.1"
# The machines that run these tests have no GPU, or one that is nobody's business here.
CHECK = ("plan", "check", "--no-devices")


def script(corral: Corral, *names: str) -> None:
    for name in names:
        corral.script(name, "print(1)\n")


def copied(corral: Corral, name: str) -> Path:
    return Path(shutil.copy(PLANS / name, corral.home / name))


@pytest.mark.parametrize("name", ["paper.csv", "talk.csv", "radt-0.2.30.csv", "spreadsheet.csv", "sweep.yaml"])
def test_what_radt_takes_can_be_run(corral: Corral, name: str) -> None:
    script(corral, "train.py", "resnet.py")
    plan = copied(corral, name)
    before = plan.read_bytes()
    said = corral(*CHECK, plan).stdout.decode()
    assert said.splitlines()[-1].endswith(
        "; 0 errors, 1 warning" if name == "spreadsheet.csv" else "; 0 errors, 0 warnings"
    ), said
    assert plan.read_bytes() == before


def test_every_problem_at_once(corral: Corral) -> None:
    script(corral, "train.py")
    (corral.home / "run.sh").write_text("true\n")
    plan = copied(corral, "wrong.csv")
    said = corral(*CHECK, plan.name, status=1).stdout.decode().splitlines()
    assert said[-1] == "wrong.csv: 8 runs in 8 workloads; 15 errors, 3 warnings"
    for line in (
        "warning: wrong.csv:1:45: header 'Colocation': not a column of a plan; its cells are kept and ignored; "
        "did you mean Collocation?",
        "wrong.csv:2:11: Collocation '3g.21gb': no such MIG profile; did you mean 3g.20gb?",
        "wrong.csv:3:8: Devices '0+0': device 0 is given twice",
        "wrong.csv:4:14: File 'trian.py': no such file in the plan's folder; did you mean train.py?",
        "wrong.csv:4:23: Params '--note 'open': a quote is not closed",
        "wrong.csv:5:26: After '99': experiment 1 has no workload 99",
        "wrong.csv:6:17: Collocation 'naiv': unknown way of sharing; did you mean naive?",
        "wrong.csv:8:13: File 'run.sh': is a file that may not be executed; chmod +x run.sh, or an interpreter "
        "before it: sh run.sh",
        "wrong.csv:8:23: After '5': workloads wait for each other: 5 after 6 after 5",
    ):
        assert line in said, (line, said)
    assert any("unknown listener 'tpo', did you mean 'top'?" in line for line in said)

    problems = json.loads(corral(*CHECK, plan, "--format", "json", status=1).stdout)
    assert len(problems) == 18
    mig = next(p for p in problems if p["value"] == "3g.21gb")
    assert (mig["line"], mig["column"], mig["field"], mig["severity"]) == (2, 11, "Collocation", "error")
    rows = list(csv.DictReader(io.StringIO(corral(*CHECK, plan, "--format", "csv", status=1).stdout.decode())))
    assert [row["reason"] for row in rows] == [p["reason"] for p in problems]


def test_a_variable_that_a_run_would_refuse_is_found_in_its_cell(corral: Corral) -> None:
    script(corral, "train.py")
    plan = corral.home / "plan.csv"
    header = "Experiment,Workload,Status,Run,File,Env\n"
    plan.write_text(header + "1,1,,,train.py,CORRAL_INTERVAL=1s\n1,2,,,train.py,CORRAL_INTERVAL=soon\n")
    expected = (
        "plan.csv:3:16: Env 'CORRAL_INTERVAL=soon': CORRAL_INTERVAL: 'soon': expected a duration, "
        "e.g. 100ms, 2s, 1.5m, 3h, 1d; correct or remove it"
    )
    assert corral(*CHECK, plan.name, status=1).stdout.decode().splitlines()[0] == expected
    said = corral("run", plan.name, status=2).stderr.decode()
    assert expected in said, said
    assert "lists the options" not in said
    plan.write_text(header + "1,1,,,train.py,CORRAL_INTERVAL=2h;CORRAL_MAX_EPOCHS=few\n")
    lines = corral(*CHECK, plan.name, status=1).stdout.decode().splitlines()
    assert [line.partition("Env")[0] for line in lines[:-1]] == ["plan.csv:2:16: "] * 2, lines
    assert "must be 10ms to 1h" in lines[0]
    assert "expected a whole number greater than 0" in lines[1]


def test_the_published_study_has_three_workloads_that_cannot_be(corral: Corral) -> None:
    plan = corral.home / "study.csv"
    corral("plan", "generate", STUDY, "--output", plan)
    (corral.home / "timm").mkdir()
    script(corral, "timm/train.py")
    said = corral(*CHECK, plan.name, status=1).stdout.decode().splitlines()
    assert [line.rpartition("together: ")[2].partition(",")[0] for line in said[:-1]] == [
        "4 + 2 + 2 = 8 compute slices",
        "4 + 2 + 1 + 1 = 8 compute slices",
        "4 + 2 + 1 + 1 + 1 = 9 compute slices",
    ]
    assert said[-1] == "study.csv: 618 runs in 198 workloads; 3 errors, 0 warnings"


def test_devices_are_compared_with_those_of_this_machine(corral: Corral) -> None:
    """Two A100 of the fake driver, which has profiles and placements of its own."""
    state = corral.home / "gpu"
    state.write_text("gpus 2\nmodel a100-40\n")
    corral.environment |= {"FAKE_NVML_STATE": str(state), "CORRAL_NVML_LIBRARY": str(FAKE_DRIVER)}
    script(corral, "train.py")
    plan = corral.home / "plan.csv"
    plan.write_text(
        "Experiment,Workload,File,Devices,Collocation\n"
        "1,1,train.py,0,4g.20gb\n"
        "1,1,train.py,GPU-c0de0000-fa4e-4000-8000-000000000000,2g.10gb\n"
        "1,1,train.py,0,2g.10gb\n"
        "1,2,train.py,3,\n"
        "1,3,train.py,1,3g.40gb\n"
        "1,4,train.py,1,4g.20gb\n"
        "1,4,train.py,1,2g.10gb\n"
        "1,4,train.py,1,1g.5gb\n"
    )
    said = corral("plan", "check", plan.name, status=1).stdout.decode().splitlines()
    gpu = "NVIDIA A100-SXM4-40GB"
    assert said == [
        "plan.csv:2:16: Collocation '4g.20gb': workload 1 requests 4g.20gb + 2g.10gb + 2g.10gb on device 0, "
        f"which do not fit together: 4 + 2 + 2 = 8 compute slices, the device ({gpu}) has 7",
        f"plan.csv:5:14: Devices '3': this machine has no device 3; there are 0 ({gpu}), 1 ({gpu})",
        f"plan.csv:6:16: Collocation '3g.40gb': {gpu} has no such MIG profile; did you mean 3g.20gb?",
        "plan.csv: 8 runs in 4 workloads; 3 errors, 0 warnings",
    ]
    assert state.read_text() == "gpus 2\nmodel a100-40\n"


def test_the_runs_of_a_plan(corral: Corral) -> None:
    script(corral, "train.py", "resnet.py")
    runs = corral.json("plan", "expand", str(copied(corral, "paper.csv")))
    assert [run["letter"] for run in runs] == ["0", "0_A_mps", "0_B_mps"]
    assert runs[0]["command"] == "resnet.py --data /data/cifar10 --batch-size 128 --epochs 5"

    plan = corral.home / "plan.csv"
    plan.write_text("Experiment,Workload,File,Repeat,Tags\ne,1,train.py,2,a=b\ne,2,train.py,,\n")
    runs = corral.json("plan", "expand", str(plan))
    assert [(run["workload"], run["line"], run["tags"]) for run in runs] == [
        ("1#1", 2, "a=b"),
        ("2", 3, ""),
        ("1#2", 2, "a=b"),
    ]
    assert len({run["key"] for run in runs}) == 2

    sweep = corral("plan", "expand", copied(corral, "sweep.yaml")).stdout.decode().splitlines()
    assert len(sweep) == 1 + 6
    assert "train.py --lr 0.01 --batch-size 128 --amp True" in sweep[-1]


def test_misuse(corral: Corral) -> None:
    assert b"did you mean 'check'?" in corral("plan", "chek", "plan.csv", status=2).stderr
    assert b"corral plan VERB" in corral("plan", "--help").stdout
    assert b"nowhere.csv" in corral("plan", "check", "nowhere.csv", status=1).stderr
    assert b"a directory" in corral("plan", "expand", ".", status=2).stderr
    corral("plan", "check", status=2)
    corral("plan", status=2)


def test_environments_that_cannot_be_prepared_are_found_before_the_night(corral: Corral) -> None:
    script(corral, "train.py")
    (corral.home / "there.txt").write_text("numpy\n")
    lacking = {
        "conda=nope": "conda",
        "venv=/nope": "/nope/bin/python",
        "python=/nope/python3": "/nope/python3",
        "pip=missing.txt": "missing.txt",
        "mlproject=nodir": "nodir",
        "apptainer=none.sif": "none.sif" if shutil.which("apptainer") else "apptainer",
    }
    good = ["pip=there.txt", "python=python3", "local"]
    rows = [f"E,{i},train.py,{environment}" for i, environment in enumerate([*lacking, *good])]
    (corral.home / "plan.csv").write_text("\n".join(["Experiment,Workload,File,Environment", *rows, ""]))
    said = corral("plan", "check", "plan.csv", status=1).stdout.decode().splitlines()
    for line, (environment, word) in enumerate(lacking.items(), 2):
        (found,) = [text for text in said if text.startswith(f"plan.csv:{line}:")]
        assert environment in found
        assert word in found.replace(environment, "", 1)
    assert said[-1].endswith(f"; {len(lacking)} errors, 0 warnings")
    # A plan for another machine is not compared with this one.
    assert "0 errors" in corral(*CHECK, "plan.csv").stdout.decode()
