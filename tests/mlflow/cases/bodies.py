"""Bodies of requests: type, encoding, odd JSON, and arguments in the wrong place."""

from __future__ import annotations

from replay import Chapter

JSON = {"Content-Type": "application/json"}
PATH = "runs/set-tag"
TYPES = [
    "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
    "APPLICATION/JSON", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream",
    "text/json", "application/jsonp", "",
]  # fmt: skip
METRICS = {
    "a bare NaN": '{"run_id": "$odd", "key": "bare", "value": NaN, "timestamp": 1}',
    "a bare Infinity": '{"run_id": "$odd", "key": "bare", "value": Infinity, "timestamp": 1}',
    "an exponent": '{"run_id": "$run", "key": "exp", "value": 1e2, "timestamp": 1e3}',
    "a leading plus": '{"run_id": "$run", "key": "plus", "value": +1, "timestamp": 1}',
    "a hexadecimal": '{"run_id": "$run", "key": "hex", "value": 0x10, "timestamp": 1}',
    "a key twice": '{"run_id": "$run", "key": "first", "key": "second", "value": 1, "timestamp": 1}',
    "a trailing comma": '{"run_id": "$run", "key": "comma", "value": 1, "timestamp": 1,}',
    "a comment": '{"run_id": "$run", /* c */ "key": "comment", "value": 1, "timestamp": 1}',
    "single quotes": "{'run_id': '$run', 'key': 'quotes', 'value': 1, 'timestamp': 1}",
    "escapes": '{"run_id": "$run", "key": "\\u0065\\u0073c", "value": 1, "timestamp": 1}',
    "a lone surrogate": '{"run_id": "$run", "key": "\\ud800", "value": 1, "timestamp": 1}',
    "a huge number": '{"run_id": "$odd", "key": "huge", "value": 1e400, "timestamp": 1}',
    "a very long number": '{"run_id": "$run", "key": "digits", "value": 0.' + "1" * 400 + ', "timestamp": 1}',
    "camelCase": '{"runId": "$odd", "key": "camel", "value": 1, "timestamp": 1}',
    "both spellings": '{"runId": "$odd", "run_id": "$odd", "key": "both", "value": 1, "timestamp": 1}',
}
BODIES = {
    "nothing": "",
    "null": "null",
    "a number": "5",
    "a list": "[]",
    "a text": '"x"',
    "true": "true",
    "half an object": '{"run_id": "$run"',
    "two objects": "{}{}",
    "white space": "   ",
    "nonsense": "<xml/>",
    "a byte order mark": '\ufeff{"run_id": "$odd", "key": "bom", "value": "v"}',
    "leading space": '  {"run_id": "$run", "key": "space", "value": "v"}  \n',
    "deep lists": '{"run_id": "$odd", "key": "deep", "value": "v", "x": ' + "[" * 90 + "]" * 90 + "}",
}


def chapter() -> Chapter:
    c = Chapter("bodies")
    c.post("experiment", "experiments/create", {"name": "bodies"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "b", "start_time": 1}
    for name in ("run", "odd"):
        c.post(f"run {name}", "runs/create", made, save={name: "run.info.run_id"})
    for number, kind in enumerate(TYPES):
        tag = {"run_id": "$run", "key": f"type{number}", "value": "v"}
        c.post(f"type {kind!r}", PATH, tag, headers={"Content-Type": kind})
    for name, text in BODIES.items():
        c.post(name, PATH, text, headers=JSON)
    for name, text in METRICS.items():
        c.post(name, "runs/log-metric", text, headers=JSON)
    c.post("not UTF-8", PATH, b'{"run_id": "\xff", "key": "k", "value": "v"}', headers=JSON)
    c.post("UTF-16", PATH, '{"run_id": "x"}'.encode("utf-16"), headers=JSON)
    c.post("arguments in the URL", PATH, None, query={"run_id": "$run", "key": "url", "value": "v"}, headers=JSON)
    c.get("a body in a GET", "runs/get", {"run_id": "$run"}, headers=JSON)
    c.add("GET", "a GET by body alone", "experiments/get", {"experiment_id": "$exp"})
    c.get("an argument twice", "experiments/get", [("experiment_id", "$exp"), ("experiment_id", "0")])
    c.get("an unknown argument", "experiments/get", {"experiment_id": "$exp", "colour": "red"})
    c.get("after the bodies", "runs/get", {"run_id": "$run"})
    return c
