"""The footprint in `corral explain`: a fake driver's energy counter, and the prices of corral.toml."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import BUILD, Corral

WATTS = 360

TRAIN = """
    import corral, time
    for _ in range(2):
        with corral.phase("epoch", kind="control"):
            for _ in range(10):
                with corral.phase("step"):
                    time.sleep(0.15)
"""


def explained(corral: Corral) -> dict[str, Any]:
    found: dict[str, Any] = corral.json("explain", "train")["footprint"]
    return found


def record(corral: Corral, **more: str) -> dict[str, Any]:
    """A run of about 3 s on a GPU whose counter (mJ) grows steadily; its footprint."""
    timeline = corral.script(
        "driver.timeline",
        f"""
        driver.version 580.95.05
        gpus 1
        gpu0.uuid GPU-00000000-1111-2222-3333-444444444444
        gpu0.busy 50
        gpu0.memory_busy 1
        gpu0.energy 1000000+{WATTS * 1000}
        gpu0.field.185 {WATTS * 1000 * 11 // 10}
        """,
    )
    driver = {"CORRAL_NVML_LIBRARY": str(BUILD / "fakes" / "libnvidia-ml.so.1"), "CORRAL_FAKE_NVML": str(timeline)}
    devices = json.dumps([{"device": "GPU-00000000-1111-2222-3333-444444444444"}])
    script = corral.script("train.py", TRAIN)
    options = ("--name", "train", "--param", "batch_size=32", "--tag", f"corral.devices={devices}")
    corral("run", "--quiet", *options, script, env=driver | more)
    return explained(corral)


def test_the_energy_of_a_run_is_its_counters_difference(corral: Corral) -> None:
    found = record(corral)
    seconds = (int(found["to_ns"]) - int(found["from_ns"])) / 1e9
    (gpu,) = [part for part in found["parts"] if part["component"] == "gpu"]
    assert (gpu["source"], gpu["method"], gpu["metric"]) == ("gpu0", "counter", "host.gpu.energy")
    assert gpu["joules"] == pytest.approx(WATTS * seconds * gpu["coverage"], rel=0.05)
    assert gpu["split"] is None, "no other run was on it"
    units = {one["unit"]: one for one in found["units"]}
    assert (units["epoch"]["count"], units["step"]["count"]) == (2, 20)
    assert (units["sample"]["count"], units["sample"]["from"]) == (640, "steps \N{MULTIPLICATION SIGN} batch_size")
    assert units["step"]["joules"] == pytest.approx(found["joules"] / 20)
    assert found["emissions"] is None, "no intensity was given"
    assert found["cost"] is None
    (device,) = found["efficiency"]["devices"]
    assert device["hours"] == pytest.approx(seconds / 3600)
    assert device["activity"] == pytest.approx(0.5, rel=0.01)
    assert device["metric"] == "host.gpu.busy"


def test_prices_are_recorded_with_the_run_and_scale_exactly(corral: Corral) -> None:
    corral.configure(
        """\
        [footprint]
        pue = 1.25
        intensity-g-per-kwh = 400
        intensity-source = "grid operator"
        intensity-year = 2024
        price-per-kwh = 0.5
        price-per-hour = 3.6
        currency = "EUR"
        """,
    )
    found = record(corral)
    corral.configure("")
    assert explained(corral) == found, "they are the run's, whatever the file says later"
    kwh = found["joules"] / 3.6e6 * 1.25
    seconds = (int(found["to_ns"]) - int(found["from_ns"])) / 1e9
    assert found["kwh"] == pytest.approx(kwh, rel=1e-9)
    assert found["emissions"]["co2e_g"] == pytest.approx(kwh * 400, rel=1e-9)
    assert (found["emissions"]["intensity_source"], found["emissions"]["intensity_year"]) == ("grid operator", 2024)
    assert found["cost"]["energy"] == pytest.approx(kwh * 0.5, rel=1e-9)
    assert found["cost"]["time"] == pytest.approx(seconds * 1e-3, rel=1e-9)
    text = corral("explain", "train").stdout.decode()
    for words in ("\nFootprint\n", "g CO2e: ", "PUE 1.25, 400 g/kWh (grid operator, 2024)", " EUR (", "\nEfficiency\n"):
        assert words in text
    markdown = corral("explain", "train", "--format", "markdown").stdout.decode()
    assert "\n## Footprint\n" in markdown
    assert "\n| ENERGY OF | SENSOR | METHOD | MEASURED | WHOLE | OF THE RUN |\n" in markdown


def test_a_wrong_price_is_named_with_its_line(corral: Corral) -> None:
    corral.configure("[footprint]\npue = 1.2\nintensity = 400\n")
    error = corral("run", "true", status=2).stderr.decode()
    assert "corral.toml:3: [footprint] has no option 'intensity'" in error
    corral.configure("[footprint]\nprice-per-hour = 2\n")
    error = corral("run", "true", status=2).stderr.decode()
    assert "corral.toml:1: [footprint] currency: missing, e.g. EUR" in error
