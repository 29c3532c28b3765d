#include "collect/nvidia/sample_rings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "collect/nvidia/fields.h"

namespace corral::collect::nvidia {
namespace {

struct RingKind {
  Sampled type;
  std::string_view metric;
  double scale;  // from the driver's unit
};
constexpr auto kRingKinds = std::to_array<RingKind>({
    {Sampled::kPower, "host.gpu.power.samples", 1e-3},
    {Sampled::kGpuUtilization, "host.gpu.busy.samples", 1e-2},
    {Sampled::kMemoryUtilization, "host.gpu.memory.busy.samples", 1e-2},
    {Sampled::kProcessorClock, "host.gpu.clock.sm.samples", 1e6},
    {Sampled::kMemoryClock, "host.gpu.clock.memory.samples", 1e6},
});

// Samples that one call can give: more than any ring is known to hold, and no end of them.
constexpr unsigned kLeastRoom = 256;
constexpr unsigned kMostRoom = 4096;
// Calls for what one had no room for.
constexpr int kMostCalls = 8;
// The driver's clock may read a little later than ours.
constexpr Nanos kAhead = std::chrono::milliseconds(50);
constexpr std::int64_t kNanosPerMicro = 1000;

Nanos system_utc_minus_boot() { return sys::read_anchor().utc_minus_boot; }

}  // namespace

Clocks clocks_on(sys::Clock& boot) {
  return {.boot = &boot, .utc_minus_boot = system_utc_minus_boot};
}

std::uint64_t SampleRings::utc_us(BootTime time) const {
  return static_cast<std::uint64_t>((ns_of(time) + utc_minus_boot_.count()) / kNanosPerMicro);
}

void SampleRings::open(CallMeter& meter, const QueryList::Subject& subject, SeriesTable& table) {
  drained_ = clocks_.boot->now();
  utc_minus_boot_ = clocks_.utc_minus_boot();
  unsigned room = kLeastRoom;
  for (const RingKind& kind : kRingKinds) {
    ValueType type{};
    unsigned there = 0;
    const Status status = meter.measure(Call::kSamples, [&] {
      return nvml_->call().samples(device_, kind.type, 0, &type, &there, nullptr);
    });
    // Not found: nothing was sampled yet.
    if (status != Status::kSuccess && status != Status::kNotFound &&
        status != Status::kInsufficientSize) {
      table.unavailable(kind.metric, subject.source,
                        std::string(nvml_->words(status)).append(subject.remark));
      continue;
    }
    room = std::max(room, std::min(there, kMostRoom));
    rings_.push_back({.type = kind.type,
                      .scale = kind.scale,
                      .column = table.add_to(kTimedGroup, kind.metric, subject.source),
                      .last_us = utc_us(drained_),
                      .latest = {}});
  }
  if (!rings_.empty()) samples_.resize(room);
}

// Between the two latest drains UTC is taken to have gone evenly, however it was put right: times
// then go neither back nor ahead of ours.
BootTime SampleRings::to_boot_time(std::uint64_t sampled_us) const {
  const auto utc_ns = static_cast<std::int64_t>(sampled_us) * kNanosPerMicro;
  const Nanos passed = boot_time(utc_ns - earlier_utc_minus_boot_.count()) - earlier_;
  const Nanos ours = drained_ - earlier_;
  const Nanos utcs = ours + utc_minus_boot_ - earlier_utc_minus_boot_;
  if (passed <= Nanos(0)) return earlier_ + passed;
  if (passed >= utcs) return drained_ + (passed - utcs);
  return earlier_ + Nanos(static_cast<std::int64_t>(static_cast<double>(passed.count()) *
                                                    (seconds(ours) / seconds(utcs))));
}

void SampleRings::follow_wall_clock(BootTime now) {
  earlier_ = drained_;
  earlier_utc_minus_boot_ = std::exchange(utc_minus_boot_, clocks_.utc_minus_boot());
  const Nanos step = utc_minus_boot_ - earlier_utc_minus_boot_;
  if (step > kStep || step < -kStep) {
    earlier_utc_minus_boot_ = utc_minus_boot_;
    // A clock that was put back will show the same times again.
    const BootTime clear = now + std::clamp(-step, Nanos(0), kAmbiguous);
    for (Ring& ring : rings_) ring.last_us = utc_us(clear);
  }
  if (now - drained_ > kPause) {
    for (Ring& ring : rings_) ring.last_us = std::max(ring.last_us, utc_us(now - kAfterPause));
  }
  drained_ = now;
}

void SampleRings::drain(CallMeter& meter, DeviceHealth& health, Row& row) {
  if (rings_.empty() || health.lost()) return;
  follow_wall_clock(clocks_.boot->now());
  for (Ring& ring : rings_) {
    if (!health.lost()) drain(ring, meter, health, row);
  }
}

Status SampleRings::read(const Ring& ring, CallMeter& meter, Answer& answer) {
  answer.count = static_cast<unsigned>(samples_.size());
  return meter.measure(Call::kSamples, [&] {
    return nvml_->call().samples(device_, ring.type, ring.last_us, &answer.type, &answer.count,
                                 samples_.data());
  });
}

void SampleRings::drain(Ring& ring, CallMeter& meter, DeviceHealth& health, Row& row) {
  for (int call = 0; call < kMostCalls; ++call) {
    Answer answer;
    const Status status = read(ring, meter, answer);
    if (status == Status::kNotFound) return;  // nothing new
    if (!health.accept(Call::kSamples, status)) {
      // A driver that gives all or nothing would refuse more and more.
      if (status == Status::kInsufficientSize) ring.last_us = utc_us(clocks_.boot->now());
      return;
    }
    const std::uint64_t before = ring.last_us;
    add_points(ring, answer, row);
    if (answer.count < samples_.size() || ring.last_us == before) return;
  }
}

void SampleRings::add_points(Ring& ring, const Answer& answer, Row& row) {
  const std::uint64_t latest = utc_us(clocks_.boot->now() + kAhead);
  const auto samples =
      std::span(samples_).first(std::min<std::size_t>(answer.count, samples_.size()));
  std::ranges::sort(samples, {}, &Sample::time_us);
  for (const Sample& sample : samples) {
    if (sample.time_us <= ring.last_us || sample.time_us > latest) continue;
    ring.last_us = sample.time_us;
    const double number = read_number(answer.type, sample.value);
    if (std::isnan(number)) continue;
    const BootTime time = to_boot_time(sample.time_us);
    if (time <= ring.latest) continue;
    ring.latest = time;
    row.add(ring.column, time, number * ring.scale);
  }
}

}  // namespace corral::collect::nvidia
