#include "run/progress.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "metric/loss_name.h"

namespace corral::run {
namespace {

constexpr std::size_t kMostSeries = 64;  // one for each process
constexpr std::size_t kMostOpen = 64;
constexpr std::size_t kLabelBytes = 60;
constexpr Nanos kRateOver{std::chrono::seconds(1)};
constexpr std::string_view kCpu = "run.cpu.used";
constexpr std::string_view kGpuBusy = "host.gpu.busy";
constexpr std::string_view kGpu = "gpu";

bool is_epoch(std::string_view name) { return lower_ascii(name.substr(0, 5)) == "epoch"; }

// True for long phases: phases within a step are too short to be read.
bool lasts(const codec::PhaseRecord& phase) {
  constexpr std::array kShort = std::to_array<std::string_view>(
      {"step", "batch", "data wait", "forward", "backward", "optimizer"});
  if (is_epoch(phase.name) || phase.name == "evaluation" || phase.name == "checkpoint") return true;
  const bool outermost = phase.type.find('/') == std::string::npos;
  return outermost && std::ranges::find(kShort, phase.name) == kShort.end();
}

// "epoch", {"index": 3} -> "epoch 3"
std::string label_of(const codec::PhaseRecord& phase) {
  std::string label =
      phase.name.substr(0, utf8_prefix(std::string_view(phase.name).substr(0, kLabelBytes)));
  for (const auto& [key, value] : phase.attributes)
    if (key == "index" && parse_int(value)) label += " " + value;
  return label;
}

}  // namespace

void ProgressWatch::note(bool loss, std::optional<std::int64_t> step, double value) {
  if (loss) progress_.loss = value;
  if (!step || (step_of_loss_ && !loss)) return;
  step_of_loss_ = loss;
  progress_.step = step;
}

// True if the series is the loss. A better name replaces the one before.
bool ProgressWatch::takes_loss(std::string_view name) {
  if (name == loss_name_) return true;
  if (!metric::is_loss(name)) return false;
  if (!loss_name_.empty() && !metric::better_loss(name, loss_name_)) return false;
  loss_name_ = name;
  step_of_loss_ = false;
  losses_.clear();
  return true;
}

void ProgressWatch::add_loss(const SessionId& session, std::uint32_t series) {
  if (is_loss(session, series)) return;
  if (losses_.size() >= kMostSeries) losses_.pop_front();
  losses_.emplace_back(session, series);
}

bool ProgressWatch::is_loss(const SessionId& session, std::uint32_t series) const {
  return std::ranges::any_of(
      losses_, [&](const auto& l) { return l.second == series && l.first == session; });
}

void ProgressWatch::note_phase(const SessionId& session, const codec::PhaseRecord& phase) {
  if (phase.begin && phase.end) return;
  // A begin may repeat an open phase: unacknowledged records are read again.
  std::erase_if(open_, [&](const Open& o) { return o.id == phase.id && o.session == session; });
  if (phase.begin && lasts(phase)) {
    if (open_.size() >= kMostOpen) open_.erase(open_.begin());
    open_.push_back({session, phase.id, label_of(phase)});
  }
  if (!open_.empty()) progress_.phase = open_.back().label;
}

void ProgressWatch::records(const SessionId& session, std::span<const spool::Record> records) {
  const Lock lock(mutex_);
  for (const spool::Record& record : records) {
    if (const auto* point = std::get_if<spool::Point>(&record.body)) {
      note(is_loss(session, point->series), point->step, point->value);
    } else if (const auto* series = std::get_if<codec::SeriesDef>(&record.body)) {
      if (takes_loss(series->name)) add_loss(session, series->id);
    } else if (const auto* phase = std::get_if<codec::PhaseRecord>(&record.body)) {
      note_phase(session, *phase);
    }
  }
}

void ProgressWatch::point(std::string_view name, std::optional<std::int64_t> step, double value) {
  const Lock lock(mutex_);
  note(takes_loss(name), step, value);
}

void ProgressWatch::declare(const codec::SeriesDef& series) {
  if (series.name == kCpu) cpu_series_ = series.id;
  // A part of a device has a longer source; it is ignored.
  if (series.name == kGpuBusy && series.source.starts_with(kGpu) &&
      parse_int(std::string_view(series.source).substr(kGpu.size())))
    gpu_series_[series.id] = series.source;
  if (series.owner == metric::Owner::kRun && takes_loss(series.name)) add_loss({}, series.id);
}

void ProgressWatch::note_column(const codec::SampleGroup& group, const codec::Column& column) {
  if (column.values.empty() || group.times.empty()) return;
  const double value = column.values.back();
  // If the last row lacks the value, the time is slightly wrong.
  if (column.series == cpu_series_) {
    note_cpu(group.times.back(), value);
  } else if (const auto gpu = gpu_series_.find(column.series); gpu != gpu_series_.end()) {
    gpus_.insert_or_assign(gpu->second, value);
  } else if (const bool loss = is_loss({}, column.series); loss || !group.steps.empty()) {
    note(loss, group.steps.empty() ? std::nullopt : std::optional(group.steps.back()), value);
  }
}

void ProgressWatch::samples(const codec::SchemaBody& schema, const codec::SamplesBody& samples) {
  const Lock lock(mutex_);
  for (const codec::SeriesDef& series : schema.series) declare(series);
  for (const codec::SampleGroup& group : samples.groups)
    for (const codec::Column& column : group.columns) note_column(group, column);
}

void ProgressWatch::note_cpu(BootTime at, double used) {
  if (cpu_ && at - cpu_->first < kRateOver) return;
  if (cpu_ && used >= cpu_->second)
    progress_.cores = (used - cpu_->second) / seconds(at - cpu_->first);
  cpu_ = {at, used};
}

void ProgressWatch::name_gpu(std::string_view source, std::string_view uuid) {
  const Lock lock(mutex_);
  uuids_.insert_or_assign(std::string(source), std::string(uuid));
}

Progress ProgressWatch::now() const {
  const Lock lock(mutex_);
  Progress progress = progress_;
  for (const auto& [source, busy] : gpus_) {
    progress.gpus.emplace_back(source.substr(kGpu.size()), busy);
    if (const auto uuid = uuids_.find(source); uuid != uuids_.end())
      progress.gpus.emplace_back(uuid->second, busy);
  }
  return progress;
}

}  // namespace corral::run
