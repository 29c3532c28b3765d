"""Says what TensorBoard's PyTorch profiler plugin makes of a trace: its share of each kind, and its recommendations."""

from __future__ import annotations

import json
import sys
import tempfile

from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = RunProfileData.parse("worker", "1", sys.argv[1], folder)
    costs = found.avg_costs.costs
    shares = {role.name: costs[role] / costs[ProfileRole.Total] for role in ProfileRole}
    steps = len(found.steps_costs)
    print(
        json.dumps(
            {"steps": steps, "step_us": costs[ProfileRole.Total], "shares": shares, "said": found.recommendations}
        )
    )
