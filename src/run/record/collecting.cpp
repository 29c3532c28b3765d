// What Recording does with the samplers and with foreign sources.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "run/record/collecting_cost.h"
#include "run/record/recording.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::run {
namespace {

// How long a device's driver and the commands of sources are waited for at the end.
constexpr Nanos kEndPatience{std::chrono::seconds(2)};
// A shorter run tells what starting costs, not what collecting does.
constexpr Nanos kCostSaidFrom{std::chrono::seconds(5)};

namespace foreign = collect::foreign;

foreign::Stream stream_of(codec::LogStream stream) {
  if (stream == codec::LogStream::kTty) return foreign::Stream::kBoth;
  return stream == codec::LogStream::kStderr ? foreign::Stream::kErr : foreign::Stream::kOut;
}

}  // namespace

Result<> Recording::open_lanes(pid_t child, collect::PerfCounters perf) {
  collect::SamplerOptions sampling{
      .listeners = options_.listeners, .interval = options_.interval, .run_pid = child};
  sampling.perf = std::move(perf);
  sampling.library_path = options_.device_library;
  lanes_ = TRY(collect::Lanes::open(std::move(sampling)));
  told_unavailable_.resize(lanes_->all().size());
  feed_.emplace(lanes_->all(), series_ids_);
  if (options_.gate.reports >= 0) feed_->show(progress_);
  return {};
}

void Recording::open_sources() {
  if (options_.gate.reports >= 0) point_feed_.show(progress_);
  if (!options_.sources.otlp.empty()) {
    otlp_ = std::make_unique<OtlpSources>(options_.sources.otlp, points_);
    otlp_->start();
  }
  if (options_.sources.empty()) return;
  std::error_code error;
  auto opened = foreign::ForeignSources::open(options_.sources,
                                              {.directory = sys::fs::current_path(error).string(),
                                               .environment = sys::own_environment(),
                                               .queue = &points_});
  if (!opened) return lacks("sources", opened.error());
  sources_ = std::move(*opened);
}

void Recording::open_stall_watch(pid_t child) {
  const auto records = [&](std::string_view listener) {
    return std::ranges::find(options_.listeners, listener) != options_.listeners.end();
  };
  const auto& configured = options_.sources.pressure;
  stalls_ = std::make_unique<collect::StallWatch>(
      configured.empty() ? collect::StallOptions{} : configured.front(),
      collect::StallWatch::Place{
          .run_pid = child, .host = records("proc"), .group = records("cgroup")});
}

void Recording::start_collecting() {
  if (lanes_ != nullptr) {
    take_turn();
    const auto started = lanes_->start();
    if (!started) lacks("metrics of the machine", started.error());
  }
  if (stalls_ != nullptr) {
    std::vector<codec::Fact> absent;
    for (const auto& [source, reason] : stalls_->unavailable())
      absent.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = reason});
    journal_.facts(std::move(absent));
    if (const auto started = stalls_->start(); !started)
      lacks("events of pressure", started.error());
  }
  start_sources();
}

void Recording::start_sources() {
  if (sources_ == nullptr) return;
  const auto& child = directory_.manifest().child;
  const auto started = sources_->start(child ? child->pid : 0);
  if (!started) lacks("sources", started.error());
}

void Recording::report_stalls() {
  if (stalls_ == nullptr) return;
  codec::EventsBody body;
  for (collect::StallEvent& event : stalls_->take()) {
    body.events.push_back({.time = event.time,
                           .name = std::move(event.name),
                           .origin = "corral",
                           .attributes = std::move(event.attributes)});
  }
  if (body.events.empty()) return;
  codec::Bundle bundle;
  bundle.add(body);
  journal_.bundle(bundle);
}

// Measures the host as well, when no other run's supervisor does.
void Recording::take_turn() {
  if (lanes_ == nullptr) return;
  const bool began = host_.take_turn();
  lanes_->set_host_sampling(host_.measures());
  if (began) note_health(host_.begin());
}

// A lane's absences, once it is open; later troubles as they come.
void Recording::report_lanes() {
  std::vector<codec::Fact> facts;
  const auto lanes = lanes_->all();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (told_unavailable_[i] || !lanes[i]->opened()) continue;
    told_unavailable_[i] = true;
    note_health(lanes[i]->health());
    host_.share(lanes[i]->health());
    for (const auto& [source, reason] : lanes[i]->unavailable())
      facts.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = reason});
    for (const auto& [key, value] : lanes[i]->descriptions()) {
      constexpr std::string_view kUuid = ".uuid";
      if (key.ends_with(kUuid))
        progress_.name_gpu(std::string_view(key).substr(0, key.size() - kUuid.size()), value);
      facts.push_back(
          {.kind = codec::FactKind::kInfo, .key = "device." + key, .value = Json(value).dump()});
    }
  }
  std::vector<codec::Health> health;
  for (const auto& [source, text, missing, state] : lanes_->take_problems()) {
    notices_.warn(fmt::format("listener {}: {}", source, text));
    journal_.event(fmt::format("listener {}: {}", source, text), {});
    const bool active = state == codec::HealthState::kActive;
    health.push_back(
        {.part = "listener." + source, .state = state, .reason = active ? std::string() : text});
    if (missing)
      facts.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = text});
  }
  note_health(health);
  host_.share(health);
  note_health(host_.follow());
  if (!facts.empty()) journal_.facts(std::move(facts));
}

// An event of each series; a person is told of each metric.
void Recording::report_strays() {
  for (const auto& [text, new_metric] : feed_->strays().take_new()) {
    if (new_metric) notices_.warn(text);
    journal_.event(text, {});
  }
}

Progress Recording::progress() {
  if (tracking_) {
    // The newest last: its step is the run's.
    std::vector<LoggedPoint> points = tracking_->newest_points();
    std::ranges::sort(points, {}, &LoggedPoint::time_ms);
    for (const LoggedPoint& point : points) progress_.point(point.metric, point.step, point.value);
  }
  return progress_.now();
}

void Recording::sample_duties() {
  if (lanes_ != nullptr) {
    lanes_->set_bytes_written(journal_.bytes_written());
    report_lanes();
    feed_->flush(journal_);
    report_strays();
  }
  report_stalls();
  report_losses();
}

void Recording::report_problem(const foreign::Problem& problem) {
  const std::string line = fmt::format("source {}: {}", problem.source, problem.message);
  if (problem.recovered) {
    notices_.say(line);
  } else {
    notices_.warn(line);
  }
  journal_.event(line, {});
}

void Recording::source_duties() {
  if (sources_ == nullptr && otlp_ == nullptr) return;
  if (sources_ != nullptr) {
    for (const foreign::Problem& problem : sources_->problems()) report_problem(problem);
    note_health(sources_->health());
  }
  if (otlp_ != nullptr) {
    for (const foreign::Problem& problem : otlp_->problems()) report_problem(problem);
    note_health(otlp_->health());
  }
  point_feed_.flush(journal_, workload_lock_.hold());
  if (const std::uint64_t lost = points_.dropped(); lost != std::exchange(told_points_, lost)) {
    notices_.warn("points of sources are being dropped: they come faster than they can be stored");
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "source points", .value = std::to_string(lost)}});
  }
}

bool Recording::show_output() {
  if (sources_ == nullptr || options_.sources.regex.empty()) return true;
  const BootTime now = sys::boot_now();
  return relay_.show([&](codec::LogStream stream, std::string_view bytes) {
    sources_->feed_output(stream_of(stream), bytes, now);
  });
}

void Recording::end_collecting() {
  const BootTime deadline = sys::boot_now() + kEndPatience;
  if (lanes_ != nullptr) {
    for (const std::string& listener : lanes_->stop(deadline)) {
      const codec::Health lost{
          .part = "listener." + listener,
          .state = codec::HealthState::kGivenUp,
          .reason = "its driver has not answered, its last values are missing"};
      notices_.warn(fmt::format("listener {}: {}", listener, lost.reason));
      note_health({&lost, 1});
    }
  }
  host_.release();
  if (stalls_ != nullptr) stalls_->stop();
  if (otlp_ != nullptr) otlp_->stop();
  if (sources_ != nullptr) sources_->stop(sys::boot_now() + kEndPatience);
}

// After the spooler has ended: this thread shows the last of the output.
void Recording::end_sources() {
  if (sources_ == nullptr) return;
  while (!show_output()) {
  }
  sources_->end_output(sys::boot_now());
}

void Recording::note_cost(BootTime end) {
  if (lanes_ == nullptr) return;
  const spool::Manifest& run = directory_.manifest();
  const CollectingCost cost =
      measure_cost(*lanes_, end - run.begun.value_or(run.started), journal_.bytes_written());
  journal_.facts(facts_of(cost));
  if (auto outside = feed_->strays().facts(); !outside.empty()) journal_.facts(std::move(outside));
  if (cost.wall >= kCostSaidFrom) summary_ = summary_of(cost);
}

}  // namespace corral::run
