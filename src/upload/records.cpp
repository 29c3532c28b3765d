#include "upload/records.h"

#include <algorithm>
#include <map>
#include <utility>

namespace corral::upload {
namespace {

class Rows {
 public:
  void add(const spool::Point& point) {
    const bool same =
        !row_.empty() && point.time == time_ && point.step == step_ && !holds(point.series);
    if (!same) flush();
    time_ = point.time;
    step_ = point.step;
    row_.emplace_back(point.series, point.value);
  }

  codec::SamplesBody take() {
    flush();
    return {std::move(groups_)};
  }

 private:
  [[nodiscard]] bool holds(std::uint32_t series) const {
    return std::ranges::find(row_, series, &std::pair<std::uint32_t, double>::first) != row_.end();
  }

  void flush() {
    if (row_.empty()) return;
    std::vector<std::uint32_t> key;
    for (const auto& cell : row_) key.push_back(cell.first);
    const auto [at, fresh] =
        index_.try_emplace({std::move(key), step_.has_value()}, groups_.size());
    if (fresh) {
      codec::SampleGroup group;
      for (const auto& cell : row_)
        group.columns.push_back({.series = cell.first, .present = {}, .values = {}});
      groups_.push_back(std::move(group));
    }
    codec::SampleGroup& group = groups_[at->second];
    group.times.push_back(time_);
    if (step_) group.steps.push_back(*step_);
    for (std::size_t i = 0; i < row_.size(); ++i) group.columns[i].values.push_back(row_[i].second);
    row_.clear();
  }

  BootTime time_;
  std::optional<std::int64_t> step_;
  std::vector<std::pair<std::uint32_t, double>> row_;
  std::map<std::pair<std::vector<std::uint32_t>, bool>, std::size_t> index_;
  std::vector<codec::SampleGroup> groups_;
};

struct Sorter {
  const std::string& source;
  Rows rows;
  codec::SchemaBody schema;
  codec::FactsBody facts;
  codec::EventsBody events;
  codec::PhasesBody phases;

  void operator()(const spool::Point& point) { rows.add(point); }
  void operator()(codec::SeriesDef series) {
    series.source = source;
    schema.series.push_back(std::move(series));
  }
  void operator()(const codec::Fact& fact) { facts.facts.push_back(fact); }
  void operator()(const codec::Event& event) { events.events.push_back(event); }
  void operator()(const codec::PhaseRecord& phase) { phases.phases.push_back(phase); }
};

}  // namespace

codec::Bundle bundle_of(const std::vector<spool::Record>& records, const std::string& source) {
  Sorter sorter{
      .source = source, .rows = {}, .schema = {}, .facts = {}, .events = {}, .phases = {}};
  for (const spool::Record& record : records) std::visit(sorter, record.body);
  codec::Bundle bundle;
  bundle.add(sorter.schema);
  bundle.add(sorter.facts);
  bundle.add(sorter.events);
  bundle.add(sorter.phases);
  bundle.add(sorter.rows.take());
  return bundle;
}

}  // namespace corral::upload
