"""Artifacts by the proxy and the run's list; and paths that must not leave the root."""

from __future__ import annotations

from replay import Chapter

PROXY = "/api/2.0/mlflow-artifacts/artifacts"
PARTS = "/api/2.0/mlflow-artifacts/mpu"
BINARY = {"Content-Type": "application/octet-stream"}
BAD_PATHS = [
    "../up", "a/../../up", "a/../b", "%2e%2e/up", "%252e%252e/up", "%25252e%25252e/up", "a/%2e%2e/%2e%2e/up",
    "..%2fup", "..%5cup", "a\\..\\b", "%5cup", "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "a%00b",
    "a%23b", "./a", "a/./b", "a//b", "C:%5cup", "C:/up", "a/..", "..", ".", "~/up", "file:///etc/passwd",
    "a%0ab",
]  # fmt: skip


def chapter() -> Chapter:
    c = Chapter("artifacts")
    c.post("experiment", "experiments/create", {"name": "artifacts"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "a", "start_time": 1}
    c.post("run", "runs/create", made, save={"run": "run.info.run_id"})
    files(c)
    listing(c)
    deleting(c)
    parts(c)
    return c


def files(c: Chapter) -> None:
    base = f"{PROXY}/$exp/$run/artifacts"
    beside = f"{PROXY}/$exp/beside"
    c.put("put", f"{base}/a.txt", "hello", headers=BINARY)
    c.get("get", f"{base}/a.txt")
    c.put("put again", f"{base}/a.txt", "hello again", headers=BINARY)
    c.get("get the second", f"{base}/a.txt")
    c.put("put empty", f"{base}/empty.bin", "", headers=BINARY)
    c.get("get empty", f"{base}/empty.bin")
    c.put("put deep", f"{base}/deep/er/b.json", '{"b": 1}', headers=BINARY)
    c.get("get deep", f"{base}/deep/er/b.json")
    c.put("put unicode", f"{base}/größe λ.txt", "λ", headers=BINARY)
    c.get("get unicode", f"{base}/größe λ.txt")
    c.put("put with percent", f"{base}/img%25step%251.txt", "p", headers=BINARY)
    c.get("get with percent", f"{base}/img%25step%251.txt")
    image = "dogs%25step%253%25timestamp%251795290747245%25l80907fc.png"  # as MLflow 2 names images
    c.put("put an image", f"{base}/images/{image}", "p", headers=BINARY)
    c.get("get an image", f"{base}/images/{image}")
    c.get("list images", "artifacts/list", {"run_id": "$run", "path": "images"})
    c.put("put with plus", f"{base}/img+step+1.txt", "p", headers=BINARY)
    c.get("get with plus", f"{base}/img+step+1.txt")
    c.put("put beside", f"{beside}/f/deep.txt", "x", headers=BINARY)
    c.put("put over a directory", f"{beside}/f", "x", headers=BINARY)
    c.put("put below a file", f"{beside}/f/deep.txt/below", "x", headers=BINARY)
    c.get("get nothing", f"{base}/nothing.txt")
    c.get("get a directory", f"{base}/deep")
    c.put("put without a type", f"{base}/typeless.txt", "t")
    c.get("get-artifact", "/get-artifact", {"run_uuid": "$run", "path": "a.txt"})
    c.get("get-artifact by run_id", "/get-artifact", {"run_id": "$run", "path": "deep/er/b.json"})
    c.get("get-artifact of nothing", "/get-artifact", {"run_uuid": "$run", "path": "nothing.txt"})
    c.get("get-artifact without path", "/get-artifact", {"run_uuid": "$run"})
    c.get("get-artifact without run", "/get-artifact", {"path": "a.txt"})
    c.get("get-artifact of unknown run", "/get-artifact", {"run_uuid": "0" * 32, "path": "a.txt"})
    c.get("get-artifact upwards", "/get-artifact", {"run_uuid": "$run", "path": "../../a.txt"})
    upload = "/ajax-api/2.0/mlflow/upload-artifact"
    c.post("upload", upload, "up", query={"run_uuid": "$run", "path": "up/u.txt"}, headers=BINARY)
    c.post("upload nothing", upload, "", query={"run_uuid": "$run", "path": "up/v.txt"}, headers=BINARY)
    c.post("upload without path", upload, "up", query={"run_uuid": "$run"}, headers=BINARY)
    c.post("upload without run", upload, "up", query={"path": "up/u.txt"}, headers=BINARY)


def listing(c: Chapter) -> None:
    path = "artifacts/list"
    c.get("list", path, {"run_id": "$run"})
    c.get("list by run_uuid", path, {"run_uuid": "$run"})
    c.get("list deep", path, {"run_id": "$run", "path": "deep"})
    c.get("list deeper", path, {"run_id": "$run", "path": "deep/er"})
    c.get("list a file", path, {"run_id": "$run", "path": "a.txt"})
    c.get("list nothing", path, {"run_id": "$run", "path": "nothing"})
    c.get("list with a slash", path, {"run_id": "$run", "path": "deep/"})
    c.get("list without run", path)
    c.get("list of unknown run", path, {"run_id": "0" * 32})
    c.get("list upwards", path, {"run_id": "$run", "path": ".."})
    c.get("list absolute", path, {"run_id": "$run", "path": "/etc"})
    c.get("proxy lists", PROXY, {"path": "$exp/$run/artifacts"})
    c.get("proxy lists deep", PROXY, {"path": "$exp/$run/artifacts/deep"})
    c.get("proxy lists a file", PROXY, {"path": "$exp/$run/artifacts/a.txt"})
    c.get("proxy lists nothing", PROXY, {"path": "$exp/$run/artifacts/nothing"})
    c.get("proxy lists upwards", PROXY, {"path": "../.."})


def deleting(c: Chapter) -> None:
    base = f"{PROXY}/$exp/$run/artifacts"
    c.delete("delete", f"{base}/typeless.txt")
    c.get("is gone", f"{base}/typeless.txt")
    c.delete("delete twice", f"{base}/typeless.txt")
    c.delete("delete a tree", f"{base}/deep")
    c.get("tree is gone", "artifacts/list", {"run_id": "$run", "path": "deep"})
    c.post("delete the run", "runs/delete", {"run_id": "$run"})
    c.get("its files stay", f"{base}/a.txt")
    c.get("its list stays", "artifacts/list", {"run_id": "$run", "path": "up"})


def parts(c: Chapter) -> None:
    c.post("parts of nothing", f"{PARTS}/create/$exp/x", {})
    c.post("parts", f"{PARTS}/create/$exp/x", {"path": "big.bin", "num_parts": 2})
    c.post("parts complete", f"{PARTS}/complete/$exp/x", {"path": "big.bin", "upload_id": "u", "parts": []})
    c.post("parts abort", f"{PARTS}/abort/$exp/x", {"path": "big.bin", "upload_id": "u"})


def paths() -> Chapter:
    c = Chapter("artifact_paths")
    c.post("experiment", "experiments/create", {"name": "paths"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "a", "start_time": 1}
    c.post("run", "runs/create", made, save={"run": "run.info.run_id"})
    for path in BAD_PATHS:
        c.get(f"get {path}", f"{PROXY}/{path}")
        c.put(f"put {path}", f"{PROXY}/{path}", "x", headers=BINARY)
        c.get(f"list {path}", "artifacts/list", {"run_id": "$run", "path": path})
        if path != ".":  # the root has the files of all chapters
            c.get(f"proxy list {path}", PROXY, {"path": path})
    for path in BAD_PATHS[:12]:
        c.delete(f"delete {path}", f"{PROXY}/{path}")
    return c
