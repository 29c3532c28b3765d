"""`corral report`: documents about plans and groups, made again and checked."""

from __future__ import annotations

import csv
import html.parser
import io
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from support import Corral

TRAIN = """
    import corral, sys, time
    wait = float(sys.argv[1])
    for step in range(int(sys.argv[2]) if len(sys.argv) > 2 else 60):
        with corral.phase("data wait", kind="wait"):
            time.sleep(wait)
        with corral.phase("step"):
            time.sleep(0.003)
"""
PLAN = """Experiment,Workload,File,Params,Repeat,Devices,Collocation,Status,Run
E,short,train.py,0.001,3,,-,,
E,long,train.py,0.02,3,,-,,
E,broken,train.py,x,3,,-,,
E,<b>&c,train.py,0.001,1,,-,,
"""


@pytest.fixture
def planned(corral: Corral) -> Corral:
    folder = corral.script("train.py", TRAIN).parent
    (folder / "plan.csv").write_text(PLAN)
    corral("run", "plan.csv", "--no-listeners", "--quiet", status=1, cwd=folder)
    return corral


class Page(html.parser.HTMLParser):
    """Its open elements, to see that all are closed, and where links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "rect", "line", "circle", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line", "circle", "polygon"):
            assert self.open.pop() == tag


def test_a_plan_as_a_page_that_needs_nothing_else(planned: Corral) -> None:
    folder = planned.home
    planned("report", "plan.csv", "-o", "plan.html", cwd=folder)
    text = (folder / "plan.html").read_text()
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert all(link.startswith("data:text/csv") for link in page.links)
    assert "long is " in text
    assert "short and broken cannot be compared: broken has no value that counts." in text
    assert "&lt;b&gt;&amp;c" in text
    assert text.count("<figure>") == 2
    assert "10 runs, of which 0 did not start" in text
    assert "pairs of the same block" in text
    rows = list(csv.DictReader(io.StringIO(unquote(page.links[0].split(",", 1)[1]))))
    assert [row["group"] for row in rows[:3]] == ["short", "long", "broken"], "as they ran"
    assert [row["status"] for row in rows].count("failed") == 3, "failed runs are shown, too"
    assert len(rows) == 10


def test_the_workload_marked_as_the_baseline_is_the_one_compared_with(corral: Corral) -> None:
    folder = corral.script("train.py", TRAIN).parent
    rows = "Experiment,Workload,File,Params,Baseline,Repeat\nE,short,train.py,0.001,,2\nE,long,train.py,0.02,yes,2\n"
    (folder / "plan.csv").write_text(rows)
    corral("run", "plan.csv", "--no-listeners", "--quiet", cwd=folder)
    corral("report", "plan.csv", "-o", "plan.md", cwd=folder)
    text = (folder / "plan.md").read_text()
    assert "short is " in text, "the second row's workload comes first"
    assert "Not available here, for reasons that each run has: " in text
    assert "long is " not in text


def test_of_two_plans_of_one_name_the_file_tells_which(corral: Corral) -> None:
    corral.script("train.py", TRAIN)
    head, row = "Experiment,Workload,File,Params,Repeat\n", "E,{},../train.py,0.001,2\n"
    for folder in ("one", "two"):
        (corral.home / folder).mkdir()
        (corral.home / folder / "plan.csv").write_text(head + row.format(f"{folder} a") + row.format(f"{folder} b"))
        corral("run", f"{folder}/plan.csv", "--no-listeners", "--quiet", cwd=corral.home)
    corral("report", "two/plan.csv", "-o", "two.md", cwd=corral.home)
    corral("report", "plan.csv", "-o", "one.md", cwd=corral.home / "one")
    first, second = (corral.home / "one" / "one.md").read_text(), (corral.home / "two.md").read_text()
    assert "one b" in first
    assert "one b" not in second
    assert "two b" in second
    same = corral("report", "--check", "../one/one.md", cwd=corral.home / "two")
    assert b"nothing has changed" in same.stdout
    done = corral("report", "plan.csv", "-o", "none.md", status=2, cwd=corral.home)
    assert b"2 plans are called 'plan.csv'" in done.stderr


def test_a_drift_of_the_machine_and_the_planned_margin_are_told(corral: Corral) -> None:
    corral.script("train.py", TRAIN + "        corral.log('cost', wait, step=step)\n")
    for number in range(12):
        words = ["--quiet", "--no-listeners", "--tag", "corral.margin=10%", "--name", "ab"[number % 2]]
        corral("run", *words, "train.py", str(0.01 + 0.003 * number), "12", cwd=corral.home)
    corral("report", "a", "b", "--metric", "cost", "-o", "two.md", cwd=corral.home)
    text = (corral.home / "two.md").read_text()
    assert "within a margin of 10 % (given when the runs started)" in text
    drift = re.search(r"values of the second half of the runs are \+([\d.]+) % from those of the first half", text)
    assert drift
    assert float(drift[1]) > 20
    assert "Runs near each other in time resemble each other" in text
    assert "Nothing that was recorded of the set-ups tells the two apart." in text, "the waits differ in each"
    assert "12 of 12 runs have a value" in text
    compared = corral.json("compare", "a", "b", "--metric", "cost", "--margin", "5%")
    assert (compared["margin"], compared["margin_planned"]) == (0.05, False)


def test_a_report_says_when_its_data_have_changed(planned: Corral) -> None:
    folder = planned.home
    planned("report", "plan.csv", "-o", "plan.md", "--title", "A -- B", cwd=folder)
    same = planned("report", "--check", "plan.md", cwd=folder)
    assert b"nothing has changed" in same.stdout
    command = re.search(r"^    (corral report .*)$", (folder / "plan.md").read_text(), re.MULTILINE)
    assert command
    assert command[1] == "corral report plan.csv --title 'A -- B' -o plan.md"
    planned("report", "plan.csv", "--title", "A -- B", "-o", "plan.md", cwd=folder)
    (folder / "plan.csv").write_text((folder / "plan.csv").read_text() + "E,more,train.py,0.001,1,,-,,\n")
    planned("run", "plan.csv", "--no-listeners", "--quiet", status=1, cwd=folder)
    changed = planned("report", "--check", "plan.md", status=1, cwd=folder)
    assert b"(10 runs then, 11 now)" in changed.stderr


def test_a_pdf_file_has_all_pages_and_its_question(planned: Corral) -> None:
    folder = planned.home
    planned("report", "plan.csv", "-o", "plan.pdf", "--title", "Räder 2", cwd=folder)
    data = (folder / "plan.pdf").read_bytes()
    assert data.startswith(b"%PDF-1.5\n")
    assert data.endswith(b"%%EOF\n")
    # Each place in the table of objects is that of the object.
    start = int(data.rsplit(b"startxref\n", 1)[1].split()[0])
    table = data[start:].split(b"\n")
    count = int(table[1].split()[1])
    for number, row in enumerate(table[3 : 2 + count], start=1):
        assert data[int(row[:10]) :].startswith(b"%d 0 obj\n" % number)
    counted = re.search(rb"/Count (\d+)", data)
    assert counted
    pages = int(counted[1])
    assert pages >= 2
    assert data.count(b"/Type /Page /Parent") == pages
    assert "Räder 2".encode("utf-16-be").hex().encode() in data
    assert b"nothing has changed" in planned("report", "--check", "plan.pdf", cwd=folder).stdout
    assert {path.name for path in folder.glob("plan-*")} == {"plan-runs.csv", "plan-differences.csv"}


def test_groups_as_markdown_and_latex(planned: Corral) -> None:
    folder = planned.home
    planned("report", "short", "long", "--metric", "duration", "-o", "two.md", cwd=folder)
    text = (folder / "two.md").read_text()
    assert text.startswith("# Report: short and long\n")
    for name in re.findall(r"!\[\w+\]\((.*?)\)", text):
        assert (folder / name).read_text().startswith("<svg ")
    assert {path.name for path in folder.glob("two-*")} == {
        *("two-values.svg", "two-ratios.svg", "two-runs.csv", "two-differences.csv")
    }
    planned("report", "short", "long", "-o", "two.tex", cwd=folder)
    latex = (folder / "two.tex").read_text()
    assert latex.count("\\begin{tikzpicture}") == latex.count("\\end{tikzpicture}") == 2
    for name in set(re.findall(r"\\begin{(\w+)}", latex)):
        assert latex.count(f"\\begin{{{name}}}") == latex.count(f"\\end{{{name}}}"), name


def test_failed_attempts_and_runs_that_could_not_start_are_counted(planned: Corral) -> None:
    folder = planned.home
    removes = folder / "rm.sh"
    removes.write_text("#!/bin/sh\nrm rm.sh\n")
    removes.chmod(0o755)
    rows = "E,last,rm.sh,,1,,-,,\nE,never,rm.sh,,1,,-,,\n"
    (folder / "plan.csv").write_text((folder / "plan.csv").read_text() + rows)
    planned("run", "plan.csv", "--no-listeners", "--quiet", "--rerun", status=1, cwd=folder)
    planned("report", "plan.csv", "-o", "again.md", cwd=folder)
    text = (folder / "again.md").read_text()
    assert "6 failed, 8 finished" in text, "three attempts that failed, and three more"
    assert "12 runs, of which 1 did not start" in text


def test_wrong_input_is_named_and_nothing_is_overwritten(planned: Corral) -> None:
    folder = planned.home
    (folder / "x-runs.csv").write_text("mine")
    done = planned("report", "short", "long", "-o", "x.md", status=1, cwd=folder)
    assert b"x-runs.csv would be overwritten" in done.stderr
    assert (folder / "x-runs.csv").read_text() == "mine"
    assert not (folder / "x.md").exists()
    for words, status, message in (
        (("short", "long", "-o", "x.doc"), 2, "ends in .html, .pdf, .md or .tex"),
        (("short", "-o", "x.html"), 2, "expected a plan or experiment with two workloads or more"),
        (("<b>&c", "-o", "x.html"), 2, "expected a plan or experiment with two workloads or more"),
        (("short", "nobody", "-o", "x.html"), 1, "no run, name or workload is called 'nobody'"),
        (("short", "long"), 2, "-o is missing"),
        (("short", "long", "-o", "x.html", "--title", "a\nb"), 2, "--title: expected one line"),
        (("--check", "train.py"), 2, "train.py is no report"),
        (("--check", "no.html"), 1, "no.html"),
    ):
        done = planned("report", *words, status=status, cwd=folder)
        assert message in done.stderr.decode(), words
    assert not Path(folder / "x.html").exists()
    (folder / "own.html").write_text("mine")
    done = planned("report", "short", "long", "-o", "own.html", status=1, cwd=folder)
    assert b"exists and is no report" in done.stderr
    assert (folder / "own.html").read_text() == "mine"
