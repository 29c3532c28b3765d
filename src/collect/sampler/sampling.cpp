#include "collect/sampler/sampling.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "collect/key_value_file.h"
#include "collect/tree/parse.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect {
namespace {

constexpr std::size_t kRingBytes = 4u << 20;
// Points with times of their own, of one series until they are drained and of all together: a
// driver gives some 50 a second of each.
constexpr std::size_t kTimedPoints = 512;
constexpr std::size_t kMostTimedPoints = 32768;
// A part of a listener is slow after this many reads in succession that were longer than the
// interval: one may have been the machine's doing.
constexpr int kSlowAfter = 3;
// A slow part of the slow group is read every tenth time only.
constexpr std::uint64_t kSlowPace = 10;
// Values of one row belong to one moment: reads that took so many times their usual time, and more
// than this part of the interval, were interrupted and are repeated.
constexpr int kInterruptedTimes = 4;
constexpr int kInterruptedPart = 50;
constexpr int kMoreReads = 3;
// A read that lasts longer is said to hang.
constexpr Nanos kHung = std::chrono::seconds(5);

std::size_t ring_rows(std::size_t wanted, std::size_t columns) {
  const std::size_t row_bytes = std::max<std::size_t>(columns, 1) * (sizeof(double) + 1);
  return std::clamp<std::size_t>(wanted, 2, std::max<std::size_t>(kRingBytes / row_bytes, 16));
}

std::string rounded(Nanos time) { return fmt::format("{:.3g} s", seconds(time)); }

// Returns the number of times the thread or process went to sleep, and so was woken.
std::uint64_t voluntary_switches(int who) {
  rusage usage{};
  return ::getrusage(who, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nvcsw) : 0;
}

}  // namespace

SelfSeries::SelfSeries(const std::string& lane, std::span<const Name> listeners, SeriesTable& table)
    : collector_cpu_(table.add("corral.collector.cpu", lane)),
      wakeups_(table.add("corral.collector.wakeups", lane)),
      lateness_(table.add("corral.collector.lateness", lane)),
      missed_(table.add("corral.collector.missed_ticks", lane)),
      dropped_(table.add("corral.collector.dropped_rows", lane)) {
  for (const auto& [name, slow] : listeners) {
    const std::string source(name);
    latency_[kFastGroup].push_back(table.add("corral.collector.latency", source));
    latency_[kSlowGroup].push_back(
        slow ? table.add_to(kSlowGroup, "corral.collector.latency", source + ".slow") : kNoColumn);
  }
  if (lane.empty()) add_supervisor(table);
}

void SelfSeries::add_supervisor(SeriesTable& table) {
  bytes_ = table.add("corral.collector.bytes");
  supervisor_cpu_ = table.add("corral.supervisor.cpu");
  supervisor_wakeups_ = table.add("corral.supervisor.wakeups");
  // Read from this very process, even if the listeners use another root.
  if (auto statm = ProcFile::open("/proc/self/statm")) {
    statm_ = *std::move(statm);
    supervisor_rss_ = table.add("corral.supervisor.rss");
  } else {
    table.unavailable("corral.supervisor.rss", statm.error().message);
  }
}

void SelfSeries::sample_latency(Group group, std::size_t listener, Nanos took, Row& row) const {
  row.set(latency_[group][listener], seconds(took));
}

void SelfSeries::sample_slow(const SamplerCounts& counts, Row& row) {
  row.set(collector_cpu_, seconds(sys::thread_cpu_time()));
  row.set(wakeups_, voluntary_switches(RUSAGE_THREAD));
  row.set(lateness_, seconds(counts.lateness));
  row.set(missed_, counts.missed_ticks);
  row.set(dropped_, counts.dropped_rows);
  if (bytes_ == kNoColumn) return;
  row.set(bytes_, counts.bytes_written);
  row.set(supervisor_cpu_, seconds(sys::process_cpu_time()));
  row.set(supervisor_wakeups_, voluntary_switches(RUSAGE_SELF));
  std::uint64_t pages = 0;
  if (statm_ && tree::parse_statm(statm_->read(), pages)) {
    row.set(supervisor_rss_, static_cast<double>(pages) * page_bytes());
  }
}

Sampling::Sampling(SamplerOptions options, const std::vector<const ListenerEntry*>& entries)
    : options_(std::move(options)) {
  for (const ListenerEntry* entry : entries) sources_.emplace_back().entry = entry;
}

void Sampling::open(Source& source) {
  const ListenerContext context{.root = options_.root,
                                .run_pid = options_.run_pid,
                                .supervisor_pid = options_.supervisor_pid,
                                .perf = &options_.perf,
                                .device_uuids = options_.device_uuids,
                                .news = news_,
                                .library_path = options_.library_path,
                                .tick = options_.interval};
  const auto slow = [&] {
    return table_.series(kSlowGroup).size() + table_.series(kTimedGroup).size();
  };
  const std::size_t slow_before = slow();
  const std::size_t before = declared();
  const std::size_t missing_before = table_.missing().size();
  sys::guard_call(source.entry->name,
                  [&] { source.listener = source.entry->open(context, table_); });
  source.pace[kFastGroup].there = source.listener != nullptr;
  source.pace[kSlowGroup].there = source.listener != nullptr && slow() > slow_before;
  metric::Health& health = health_.emplace_back();
  health.part = fmt::format("listener.{}", source.entry->name);
  if (source.listener != nullptr && declared() > before) return;
  health.state = metric::HealthState::kNotCaptured;
  const auto missing = table_.missing().subspan(missing_before);
  health.reason = missing.empty() ? "found nothing to measure" : missing.front().reason;
}

std::size_t Sampling::declared() const {
  return table_.series(kFastGroup).size() + table_.series(kSlowGroup).size() +
         table_.series(kTimedGroup).size();
}

void Sampling::open() {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    set_busy(i, sys::boot_now());
    open(sources_[i]);
    busy_since_.store(0, std::memory_order_relaxed);
  }
  std::vector<SelfSeries::Name> names;
  for (const Source& source : sources_)
    names.push_back({.name = source.entry->name, .slow = source.pace[kSlowGroup].there});
  self_.emplace(options_.lane, names, table_);
  const std::size_t columns =
      std::max(table_.series(kFastGroup).size(), table_.series(kSlowGroup).size());
  ring_ = std::make_unique<RowRing>(ring_rows(options_.ring_rows, columns), columns);
  if (const std::size_t timed = table_.series(kTimedGroup).size(); timed > 0)
    timed_ = std::make_unique<TimedPoints>(std::min(timed * kTimedPoints, kMostTimedPoints));
  opened_.store(true, std::memory_order_release);
}

void Sampling::run(Ticker& ticker) {
  const auto measures = [](const Source& source) { return source.listener != nullptr; };
  if (options_.open_late && std::ranges::none_of(sources_, measures)) return;
  const std::uint64_t slow_every = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(options_.slow_interval / options_.interval));
  std::uint64_t now = 0;  // ticks since start, missed ones included
  std::uint64_t next_slow = 0;
  // Ticks that passed while the listeners were opened late count for none.
  std::uint64_t uncounted = options_.open_late ? 2 : 1;
  for (std::uint64_t passed = 1; passed > 0; passed = ticker.wait()) {
    if (uncounted > 0) {
      --uncounted;
      passed = 1;
    } else {
      note_lateness(sys::boot_now() - ticker.due());
    }
    now += passed;
    missed.fetch_add(passed - 1, std::memory_order_relaxed);
    const bool second = now > next_slow;
    sample(kFastGroup, second);
    if (second) {
      sample(kSlowGroup, true);
      next_slow = (now - 1) / slow_every * slow_every + slow_every;
    }
    ticks.fetch_add(1, std::memory_order_relaxed);
  }
  sample_last();
}

void Sampling::sample_last() {
  last_ = true;
  sample(kFastGroup, true);
  sample(kSlowGroup, true);
}

void Sampling::note_lateness(Nanos late) {
  lateness_.add(late);
  latest_lateness_ = std::max(latest_lateness_, late);
}

void Sampling::sample(Group group, bool second) {
  RowRing::Slot slot;
  if (!ring_->begin(table_.series(group).size(), slot)) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Row row(slot.values, slot.present, timed_.get());
  const BootTime done = read_at_once(group, row);
  // After all others, whose time theirs would spoil.
  if (second) read_all(group, true, row);
  if (timed_ != nullptr) dropped.fetch_add(timed_->take_lost(), std::memory_order_relaxed);
  if (group == kSlowGroup) {
    self_->sample_slow({.missed_ticks = missed.load(std::memory_order_relaxed),
                        .dropped_rows = dropped.load(std::memory_order_relaxed),
                        .bytes_written = bytes_written.load(std::memory_order_relaxed),
                        .lateness = std::exchange(latest_lateness_, Nanos(0))},
                       row);
  }
  if (!last_ && host_sampling.load(std::memory_order_relaxed)) host_row_ = done;
  ring_->commit(group, done);
}

BootTime Sampling::read_at_once(Group group, Row& row) {
  BootTime begun = sys::boot_now();
  row.begin(begun);
  BootTime done = read_all(group, false, row);
  if (group != kFastGroup || !options_.lane.empty()) return done;
  const Nanos limit = std::max(options_.interval / kInterruptedPart, kInterruptedTimes * quickest_);
  for (int i = 0; i < kMoreReads && quickest_ > Nanos(0) && done - begun > limit; ++i) {
    begun = done;
    row.begin(begun);
    done = read_all(group, false, row);
  }
  quickest_ = quickest_ == Nanos(0) ? done - begun : std::min(quickest_, done - begun);
  return begun;
}

BootTime Sampling::read_all(Group group, bool slow, Row& row) {
  BootTime before = sys::boot_now();
  // A value that the kernel counts in ticks of its own has no rate over a moment.
  const bool too_soon = last_ && ticks.load(std::memory_order_relaxed) > 1 &&
                        before - host_row_ < options_.interval / 2;
  const bool host = host_sampling.load(std::memory_order_relaxed) && !too_soon;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    Pace& pace = source.pace[group];
    if (!pace.there || (source.entry->owner == metric::Owner::kHost && !host)) continue;
    if ((pace.slow.load(std::memory_order_relaxed) != 0) != slow) continue;
    if (slow && group == kSlowGroup && !last_ && pace.turn++ % kSlowPace != 0) continue;
    set_busy(i, before);
    // One that throws costs its own values of this row.
    sys::guard_call(source.entry->name, [&] {
      if (group == kFastGroup) source.listener->sample_fast(row);
      if (group == kSlowGroup) source.listener->sample_slow(row);
    });
    const BootTime after = sys::boot_now();
    busy_since_.store(0, std::memory_order_relaxed);
    self_->sample_latency(group, i, after - before, row);
    note_duration(pace, after - before);
    before = after;
  }
  return before;
}

void Sampling::note_duration(Pace& pace, Nanos took) const {
  pace.over = took > options_.interval ? pace.over + 1 : 0;
  if (pace.over == kSlowAfter && pace.slow.load(std::memory_order_relaxed) == 0)
    pace.slow.store(took.count(), std::memory_order_relaxed);
}

void Sampling::set_busy(std::size_t index, BootTime since) {
  busy_.store(index, std::memory_order_relaxed);
  busy_since_.store(ns_of(since), std::memory_order_relaxed);
}

void Sampling::drain(const std::function<void(const RowView&)>& take) {
  if (opened()) ring_->drain(take);
}

void Sampling::drain_timed(const std::function<void(const TimedPoint&)>& take) {
  if (opened() && timed_ != nullptr) timed_->drain(take);
}

std::string Sampling::busy_listener() const {
  if (busy_since_.load(std::memory_order_relaxed) == 0) return {};
  return std::string(sources_[busy_.load(std::memory_order_relaxed)].entry->name);
}

void Sampling::report_slow(Source& source, std::vector<Problem>& problems) const {
  for (Pace& pace : source.pace) {
    const Nanos took(pace.slow.load(std::memory_order_relaxed));
    if (took == Nanos(0) || std::exchange(pace.reported, true)) continue;
    const bool fast = &pace == &source.pace[kFastGroup];
    const Nanos now_every = fast ? options_.slow_interval
                                 : options_.slow_interval * static_cast<std::int64_t>(kSlowPace);
    problems.push_back(
        {.source = std::string(source.entry->name),
         .text = fmt::format("reading its {} values takes {}, longer than the interval of {}: from "
                             "now on they are read every {} only",
                             fast ? "fast" : "slow", rounded(took), rounded(options_.interval),
                             rounded(now_every)),
         .missing = false,
         .state = metric::HealthState::kPartial});
  }
}

std::vector<Problem> Sampling::take_problems() {
  std::vector<Problem> problems;
  for (Source& source : sources_) report_slow(source, problems);
  news_->drain([&](const News::Item& item) {
    problems.push_back(
        {.source = std::string(item.source),
         .text = std::string(item.text),
         .missing = !item.note,
         .state = item.note ? metric::HealthState::kActive : metric::HealthState::kGivenUp,
         .note = item.note});
  });
  report_hung(problems);
  return problems;
}

// That a listener hangs, and that it came back.
void Sampling::report_hung(std::vector<Problem>& problems) {
  const std::int64_t since = busy_since_.load(std::memory_order_relaxed);
  const bool hangs = since != 0 && sys::boot_now() - boot_time(since) > kHung;
  const std::size_t busy = busy_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    const bool now = hangs && i == busy;
    if (now == std::exchange(source.reported_hung, now)) continue;
    if (now) {
      problems.push_back({.source = std::string(source.entry->name),
                          .text = fmt::format("has not answered for {}: its values are missing "
                                              "until it does",
                                              rounded(kHung)),
                          .missing = true,
                          .state = metric::HealthState::kPartial});
    } else if (opened() && health_[i].state == metric::HealthState::kActive) {
      const bool slow = std::ranges::any_of(source.pace, &Pace::reported);
      problems.push_back(
          {.source = std::string(source.entry->name),
           .text = slow ? "answers again, but is slow and read less often" : "answers again",
           .missing = false,
           .state = slow ? metric::HealthState::kPartial : metric::HealthState::kActive});
    }
  }
}

}  // namespace corral::collect
