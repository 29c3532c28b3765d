"""Sources that Corral does not know: commands, Prometheus endpoints, the run's own output, statsd."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from support import PATIENCE, PYTHON, Corral, alive, until, until_said

TRAINING = """
    import os, socket, sys, time
    statsd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    statsd.connect(os.environ["STATSD"])
    for step in range(20):
        sys.stderr.write(f"\\r{step}/20 \\x1b[32m{step * 1.5:.1f}it/s\\x1b[0m")
        print(f"step {step}: loss={1 / (step + 1):.6f}", flush=True)
        statsd.send(b"train.samples:32|c\\ntrain.lr:%g|g\\ntrain.step:%d|ms|#rank:0" % (0.1 / (step + 1), 10 + step))
        time.sleep(0.1)
    while not os.path.exists("go"):
        time.sleep(0.05)
"""


@contextmanager
def endpoint(answer: str, port: int = 0) -> Iterator[str]:
    """A Prometheus endpoint that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_kind_of_source_on_one_run(corral: Corral) -> None:
    script = corral.script("train.py", TRAINING)
    socket = corral.runtime / "statsd.sock"
    exposition = (
        "# HELP gpu_power Draw (in W).\n"
        "# TYPE gpu_power gauge\n"
        'gpu_power{gpu="0",host="a"} 61.5\n'
        'gpu_power{gpu="1",host="a"} 40\n'
        "# TYPE tokens_total counter\n"
        "tokens_total 1000\n"
        "process_open_fds 7\n"
    )
    with endpoint(exposition) as url:
        corral.configure(
            f"""
[exec.power]
command = "echo self $$; echo run $CORRAL_RUN_PID; while :; do echo board.power 35.5 W; sleep 0.1; done"

[prometheus.gpu]
url = "{url}"
interval = "200ms"
timeout = "30s"
drop = ["process_.*"]
prefix = "dcgm."

[regex.loss]
pattern = 'step (?P<step>\\d+): loss=(?P<loss>\\S+)'
stream = "out"

[regex.speed]
pattern = '(?P<step>\\d+)/20 (?P<speed>[\\d.]+)it/s'
stream = "err"
unit = "1/s"

[statsd]
listen = "unix:{socket}"
""",
        )
        run = corral.start("run", "--", PYTHON, "-S", script, env={"STATSD": str(socket)})

        def heard() -> bool:
            said = corral("export", "@1", "--format", "jsonl", status=None).stdout.decode()
            counts = Counter((p["metric"], p["source"]) for p in map(json.loads, said.splitlines()))
            return counts["board.power", ""] >= 3 and counts["dcgm.gpu_power", "gpu=0"] >= 2

        until(heard, "both were heard")
        (corral.home / "go").touch()
        _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, said
    assert b"source " not in said, said
    corral.wait_ended()

    points = corral.points()

    def of(metric: str, source: str = "") -> list[tuple[int | None, float]]:
        return [(p.step, p.value) for p in points if (p.metric, p.source) == (metric, source)]

    assert of("loss") == [(s, float(f"{1 / (s + 1):.6f}")) for s in range(20)]
    assert of("speed") == [(s, s * 1.5) for s in range(20)]
    assert {v for _, v in of("board.power")} == {35.5}
    assert {v for _, v in of("dcgm.gpu_power", "gpu=1")} == {40}
    assert of("train.samples")[-1] == (None, 20 * 32)
    assert [v for _, v in of("train.step", "rank=0")] == [(10 + s) / 1000 for s in range(20)]
    assert of("train.lr")[-1] == (None, 0.005)
    assert not [p for p in points if "process_open_fds" in p.metric]

    metrics = {(m["name"], m["source"]): m for m in corral.json("ls", "metrics", "@1")}
    assert metrics["board.power", ""]["unit"] == "W"
    assert metrics["dcgm.gpu_power", "gpu=0"]["unit"] == "W"
    assert metrics["speed", ""]["unit"] == "1/s"
    assert metrics["train.step", "rank=0"]["unit"] == "s"
    assert metrics["dcgm.tokens_total", ""]["kind"] == "counter"
    assert metrics["train.samples", ""]["kind"] == "counter"
    # The run's own processes are counted without its sources.
    assert metrics["run.processes", ""]["max"] == 1
    assert not alive(int(of("self")[0][1]))
    assert not socket.exists()


def test_a_source_that_fails_is_told_once_and_the_others_go_on(corral: Corral) -> None:
    corral.configure(
        """
[exec.broken]
command = "echo no such sensor >&2; exit 7"

[exec.flood]
command = "yes flood 1"
max-points-per-s = 50

[exec.fine]
command = "while :; do echo fine 1; sleep 0.1; done"

[prometheus.down]
url = "http://127.0.0.1:9/metrics"
""",
    )
    began = time.monotonic()
    run = corral.start("run", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")

    def others_go_on() -> bool:
        """And the broken one was tried more than once."""
        fine = corral("export", "@1", "--metric", "fine", status=None).stdout.count(b"\n") > 15
        return fine and time.monotonic() - began > 4

    until(others_go_on, "the others go on")
    (corral.home / "go").touch()
    said = run.communicate(timeout=60)[1].decode()
    lasted = time.monotonic() - began
    assert run.returncode == 0, said
    assert said.count("source exec.broken: ended with status 7: no such sensor; next try in 1.0 s") == 1, said
    assert said.count("source exec.broken") == 1, said
    assert said.count("source exec.flood: gives more than 50 points a second") == 1, said
    assert said.count("source prometheus.down: not available") == 1, said
    corral.wait_spool_empty()
    names = [e["name"] for e in corral.events()]
    assert any(n.startswith("source exec.broken") for n in names)
    points = corral.points()
    assert 50 <= len([p for p in points if p.metric == "flood"]) <= 100 + 50 * lasted
    assert corral.show()["status"] == "finished"


def test_commands_of_sources_end_with_a_killed_supervisor(corral: Corral) -> None:
    pid_file = corral.home / "pid"
    corral.configure(
        f"""
[exec.stubborn]
command = "trap '' TERM; echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; while :; do echo x 1; sleep 0.1; done"
""",
    )
    run = corral.start("run", "sleep", "1000")
    until(pid_file.exists, "the command runs")
    pid = int(pid_file.read_text())
    assert alive(pid)
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the command has ended")


def test_a_command_that_ignores_sigterm_does_not_hold_the_run_up_for_long(corral: Corral) -> None:
    corral.configure(
        """
[exec.stubborn]
command = "trap '' TERM; echo self $$; touch stubborn; while :; do sleep 0.1; done"
""",
    )
    corral("run", "sh", "-c", "while [ ! -e stubborn ]; do sleep 0.05; done")
    pid = int(corral.points(metric="self")[0].value)
    assert not alive(pid)


def test_what_is_wrong_is_named_before_anything_starts(corral: Corral) -> None:
    corral.configure('[regex.loss]\npattern = "loss=(.*)"\n')
    done = corral("run", "touch", "started", status=2)
    assert b"corral.toml:1" in done.stderr, done.stderr
    assert b"has no named group" in done.stderr, done.stderr
    assert not (corral.home / "started").exists()
    corral.configure('[exec.power]\ncomand = "true"\n')
    done = corral("run", "touch", "started", status=2)
    assert b"corral.toml:2" in done.stderr, done.stderr
    assert b"did you mean 'command'?" in done.stderr, done.stderr


def test_an_endpoint_that_comes_later_is_found(corral: Corral) -> None:
    with endpoint("up 1\n") as url:
        pass
    corral.configure(f'[prometheus.late]\nurl = "{url}"\ninterval = "200ms"\n')
    run = corral.start("run", "sleep", "1000")
    until_said(run, b"not available")
    port = urlsplit(url).port
    assert port is not None
    with endpoint("up 1\n", port):
        until_said(run, b"answers again")
    run.send_signal(signal.SIGTERM)
    run.wait()
    corral.wait_ended()
    assert len(corral.points(metric="up")) >= 1


def test_at_a_terminal_every_pattern_reads_the_output(corral: Corral) -> None:
    corral.configure(
        """
[regex.loss]
pattern = 'loss=(?P<loss>[0-9.]+)'
stream = "out"

[regex.speed]
pattern = '(?P<speed>[0-9.]+)it/s'
stream = "err"
""",
    )
    script = corral.script("train.py", "import sys\nprint('loss=0.5')\nsys.stderr.write('7.5it/s\\n')")
    master, slave = os.openpty()
    run = corral.start("run", "--quiet", script, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    assert run.wait(60) == 0
    os.close(master)
    corral.wait_ended()
    assert {(point.metric, point.value) for point in corral.points()} >= {("loss", 0.5), ("speed", 7.5)}


def test_a_duplicate_sample_and_a_shared_name_merge_no_series(corral: Corral) -> None:
    repeats = 'c_total{a="1"} 1\nc_total{a="1"} 2\ng{q="x"} NaN\ng{q="y"} +Inf\ng{q="z"} 42\n'
    with endpoint(repeats) as url:
        corral.configure(
            f"""
[prometheus.twice]
url = "{url}"
interval = "100ms"

[exec.same]
command = "while :; do echo c_total 7; sleep 0.1; done"
""",
        )
        run = corral.start("run", "sleep", "1000")

        def all_are_there() -> bool:
            text = corral("export", "@1", "--format", "jsonl", status=None).stdout
            series = {(p["metric"], p["source"]) for p in map(json.loads, text.splitlines())}
            return {"c_total": 2, "g": 3}.items() <= Counter(metric for metric, _ in series).items()

        until(all_are_there, "all series of both sources")
        run.send_signal(signal.SIGTERM)
        said = run.communicate(timeout=60)[1].decode()
    corral.wait_ended()
    points = corral.points()
    assert {p.source for p in points if p.metric == "g"} == {"q=x", "q=y", "q=z"}
    values = {(p.source, p.value) for p in points if p.metric == "c_total"}
    assert {v for _, v in values} == {1, 7}, "the first of a duplicate"
    assert len(values) == 2, "each source has a series of its own"
    assert any(source.startswith("from=") for source, _ in values)
    assert said.count("gives 'c_total' several times in one answer (1 duplicate samples)") == 1, said
    assert said.count("such series are recorded apart") == 1, said
    health = {part["part"]: part for part in corral.show()["health"]["parts"]}
    told = [(c["state"], c["reason"]) for c in health["source.prometheus.twice"]["changes"]]
    assert ("partial", "no value has come yet") in told
    assert any("several times in one answer" in (reason or "") for _, reason in told), told


def test_a_run_without_sources_leaves_the_workloads_series_to_others(corral: Corral) -> None:
    corral.serve()
    end = corral.home / "end"
    words = ["--workload", "pair", "--quiet", "sh", "-c", f"until [ -e {end} ]; do sleep 0.02; done"]
    without = corral.start("run", "--name", "without", *words)
    until(lambda: len(corral.runs()) == 1, "the first run is there")
    with endpoint("meter 5\n") as url:
        corral.configure(
            f"""
            [prometheus.meter]
            url = "{url}"
            interval = "100ms"
            owner = "workload"
            """
        )
        having = corral.start("run", "--name", "having", *words)
        until(lambda: len(corral.runs()) == 2, "the second run is there")
        until(lambda: "meter" in {m["name"] for m in corral.show("having")["metrics"]}, "its meter is recorded")
        end.touch()
        assert (without.wait(), having.wait()) == (0, 0)
