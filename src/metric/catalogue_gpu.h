// The catalogue's rows of GPUs, a part of catalogue.cpp's table.
#pragma once

#include <array>

#include "metric/catalogue_words.h"

namespace corral::metric::rows {

inline constexpr auto kGpus = std::to_array<Metric>({
    // NVIDIA GPUs: the driver's management library (NVML), the source is the device ("gpu0").
    {"host.gpu.busy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the driver's sample period (1/6 to 1 s) in which at least one kernel was resident "
     "on the GPU, if only on one SM: how often it was used, not how much of it. NVML's "
     "utilization; on AMD's GPUs gpu_busy_percent and on Jetson boards load, with the same "
     "meaning."},
    {"host.gpu.busy.samples", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "As host.gpu.busy, each of the driver's own samples at the driver's own time (about six a "
     "second); its ring of them is drained once a second."},
    {"host.gpu.memory.busy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the driver's sample period in which the GPU's memory was read or written. NVML's "
     "memory utilization; of AMD's GPUs mem_busy_percent."},
    {"host.gpu.memory.busy.samples", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "As host.gpu.memory.busy, each of the driver's own samples at the driver's own time; its ring "
     "of them is drained once a second."},
    {"host.gpu.encoder.busy", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Utilization of the video encoder, sampled by the driver."},
    {"host.gpu.decoder.busy", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Utilization of the video decoder, sampled by the driver."},
    {"host.gpu.memory.used", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Allocated memory of the device, of all processes. Older drivers include their reserved "
     "memory. For newer ones NVIDIA's header says the same, while its tools show the two "
     "separately."},
    {"host.gpu.memory.free", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Unallocated memory of the device."},
    {"host.gpu.memory.total", "B", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Memory of the device, including the driver's reserved memory."},
    {"host.gpu.memory.reserved", "B", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Memory of the device reserved by the driver and the firmware."},
    {"host.gpu.power", "W", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Power of the whole device as nvidia-smi shows it: averaged over a second on Ampere and "
     "later but for GA100, the latest reading elsewhere. Where the GPU has no figure of its own "
     "it is the module's, CPU and GPU together, and the fact power_scope says so. Sampled: some "
     "sensors (A100, H100) see 25 ms of each 100 ms. Of AMD's GPUs the driver's mean, where it "
     "keeps one."},
    {"host.gpu.power.instant", "W", "", kGauge, kOnce, kHost, "gpu", kFast,
     "The power sensor's latest reading. Sampled: some sensors (A100, H100) see 25 ms of each 100 "
     "ms, so that a load with a steady beat is read wrong."},
    {"host.gpu.power.samples", "W", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Power of the whole device, each of the driver's own samples at the driver's own time (some "
     "20 to 50 a second, as the device has it); its ring of them is drained once a second."},
    {"host.gpu.power.limit", "W", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Power limit that the driver enforces."},
    {"host.gpu.energy", "J", "W", kCounter, kOnce, kHost, "gpu", kFast,
     "Energy of the whole device since the driver was loaded; updated every 10 to 100 ms. NVIDIA's "
     "is compared with power over time; a difference over 10 % is reported."},
    {"host.gpu.clock.sm", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the SMs; their activity is counted in its cycles, so read the two together."},
    {"host.gpu.clock.sm.samples", "Hz", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Clock of the SMs, each of the driver's own samples at the driver's own time; its ring of "
     "them is drained once a second."},
    {"host.gpu.clock.graphics", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the GPU's engines, of vendors other than NVIDIA and of Jetson boards."},
    {"host.gpu.idle", "s", "share", kCounter, kMean, kHost, "gpu", kFast,
     "Time that the GPU spent in its power-saving idle state (Intel's RC6): the rest was busy or "
     "about to sleep."},
    {"host.gpu.engine.busy", "s", "share", kCounter, kMean, kHost, "gpu", kFast,
     "Time in which one engine of the GPU was busy, of Intel's (\"intel0.rcs0\"): rcs render and "
     "compute, ccs compute, bcs copy, vcs video, vecs video enhancement."},
    {"host.gpu.clock.memory", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the device's memory."},
    {"host.gpu.clock.memory.samples", "Hz", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Clock of the device's memory, each of the driver's own samples at the driver's own time; its "
     "ring of them is drained once a second."},
    {"host.gpu.temperature", "Cel", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Temperature of the GPU's die."},
    {"host.gpu.memory.temperature", "Cel", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Temperature of the device's memory."},
    {"host.gpu.fan", "rpm", "", kGauge, kMean, kHost, "gpu", kSlow, "Speed of the GPU's fan."},
    {"host.gpu.performance_state", "", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Performance state, from 0 (the fastest clocks) to 15."},
    {"host.gpu.throttle.reasons", "", "", kGauge, kMean, kHost, "gpu", kFast,
     "Why the clocks are not higher, a sum of bits: 1 idle, 2 clocks set by the user, 4 power cap, "
     "8 hardware slowdown, 16 sync boost, 32 software thermal, 64 hardware thermal, 128 power "
     "brake, 256 display clocks."},
    {"host.gpu.throttle.power", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the power limit held the clocks down; a capped card under load spends most of "
     "its time so."},
    {"host.gpu.throttle.thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the temperature held the clocks down."},
    {"host.gpu.throttle.sync_boost", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down to match other devices of its boost group."},
    {"host.gpu.throttle.board_limit", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which a limit of the board held the clocks down."},
    {"host.gpu.throttle.low_utilization", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which low utilization held the clocks down."},
    {"host.gpu.throttle.reliability", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which a voltage limit held the clocks down."},
    {"host.gpu.throttle.application_clocks", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by any limit below the clocks set for applications."},
    {"host.gpu.throttle.base_clocks", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by any limit below the base clocks."},
    {"host.gpu.throttle.software_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the driver, for its temperature."},
    {"host.gpu.throttle.hardware_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the hardware, for its temperature."},
    {"host.gpu.throttle.memory_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down for the temperature of the device's memory."},
    {"host.gpu.throttle.regulator_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down for the temperature of its voltage regulators."},
    {"host.gpu.throttle.power_brake", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the hardware, for a signal of the power supply."},
    {"host.gpu.pcie.tx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device sent over PCIe. The driver's counter may wrap; one of 32 bits is "
     "unwrapped if it is read often enough for the link's rate, and unavailable otherwise."},
    {"host.gpu.pcie.rx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device received over PCIe; as host.gpu.pcie.tx."},
    {"host.gpu.nvlink.tx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device sent over all its NVLinks: everything on the links from NVLink 5 on, "
     "payload alone before."},
    {"host.gpu.nvlink.rx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device received over all its NVLinks: everything on the links from NVLink 5 "
     "on, payload alone before."},
    {"host.gpu.pcie.replays", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Retransmitted PCIe packets."},
    {"host.gpu.ecc.corrected", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Memory errors that ECC corrected since the driver was loaded."},
    {"host.gpu.ecc.uncorrected", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Memory errors that ECC could not correct since the driver was loaded."},
    // Activity of its units: GPM, averages over the latest 120 to 200 ms, Hopper and later.
    {"host.gpu.graphics.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the time in which the compute or graphics engine was busy. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.sm.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles with at least one resident warp, the mean over all SMs: how much of "
     "the GPU was used. Per cycle of host.gpu.clock.sm, not per second. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.sm.occupancy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Resident warps on the SMs as a share of the maximum; a high value is not efficiency. Mean of "
     "a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.integer", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their integer pipe was active. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their tensor core pipe was active; all kinds of matrix "
     "operations together. Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP16 and BF16 tensor core (HMMA) pipe was active. "
     "Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP64 tensor core (DMMA) pipe was active. Mean of a "
     "window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_int8", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their integer tensor core (IMMA) pipe was active. Mean of "
     "a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP64 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp32", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP32 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP16 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.dram.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "By GPM the bandwidth of the device's memory that was used, of what it has in theory; by "
     "DCGM (field 1005) the share of cycles in which the memory's interface was active. The two "
     "are not the same. Mean of a window of at least 100 ms."},
    {"host.gpu.pcie.tx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device sent over PCIe, protocol included. Mean of a window of at least 100 "
     "ms (GPM or DCGM)."},
    {"host.gpu.pcie.rx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device received over PCIe, protocol included. Mean of a window of at least "
     "100 ms (GPM or DCGM)."},
    {"host.gpu.nvlink.tx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device sent over all NVLinks. Whether protocol headers count is unclear: "
     "NVIDIA's documents disagree. Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.nvlink.rx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device received over all NVLinks. Whether protocol headers count is "
     "unclear: NVIDIA's documents disagree. Mean of a window of at least 100 ms (GPM or DCGM)."},
    // One MIG instance ("gpu0.mig1"). Apart from the whole device's, so that no sum counts twice.
    {"host.gpu.mig.memory.used", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "As host.gpu.memory.used, of one MIG instance."},
    {"host.gpu.mig.memory.free", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "As host.gpu.memory.free, of one MIG instance."},
    {"host.gpu.mig.memory.total", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Memory of one MIG instance."},
    {"host.gpu.mig.graphics.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.graphics.active, of the GPU instance that one MIG device belongs to, as a share "
     "of that instance."},
    {"host.gpu.mig.sm.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.sm.active, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance; values above 1 have been seen and are kept."},
    {"host.gpu.mig.sm.occupancy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.sm.occupancy, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.integer", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.integer, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.tensor", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.tensor, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp64, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp32", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp32, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp16, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.dram.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.dram.active, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
});

}  // namespace corral::metric::rows
