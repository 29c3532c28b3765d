"""The script that radT runs in test_radt.py: metrics, spans in a thread of their own, output."""

import os
import sys
import threading
import time
from pathlib import Path

import mlflow
import radt
from radt.run import trace


def load() -> None:
    for number in range(5):
        with trace.span("load", {"thread_id": threading.get_ident(), "number": number}):
            time.sleep(0.01)


print("trains with", *sys.argv[1:], flush=True)
trace.start()
trace.set_run(mlflow.active_run().info.run_id)
loader = threading.Thread(target=load)
loader.start()
for epoch in range(3):
    with trace.span("epoch", {"epoch": epoch}):
        for step in range(20):
            with trace.span("step"):
                radt.log_metric("loss", 1 / (20 * epoch + step + 1), 20 * epoch + step)
                time.sleep(0.002)
loader.join()
trace.shutdown()
# radT looks at what is printed once a second, and not any more once its runs have ended: it prints
# what it has seen itself.
while Path(os.environ["RADT_OUTPUT"]).read_text().count("trains with") < 2:
    time.sleep(0.05)
# Nor is a listener waited for, which sends every 5 s.
client, run = mlflow.MlflowClient(), mlflow.active_run().info.run_id
while "system/Free - Mem Used GB" not in client.get_run(run).data.metrics:
    time.sleep(0.1)
