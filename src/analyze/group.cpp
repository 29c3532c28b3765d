#include "analyze/group.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Result<> check(const GroupRequest& request) {
  if (request.members.empty())
    return fail(Code::kInvalidArgument, "a group needs at least one series");
  if (!(request.confidence > 0 && request.confidence < 1)) {
    return fail(Code::kInvalidArgument,
                fmt::format("confidence must lie between 0 and 1, got {}", request.confidence));
  }
  const std::size_t columns = request.members.front().series->cells.size();
  for (const GroupMember& m : request.members) {
    if (m.series->cells.size() != columns)
      return fail(Code::kInvalidArgument, "the series of a group must be on one grid");
  }
  return {};
}

// Each series once.
std::vector<const GroupMember*> distinct(const GroupRequest& request) {
  std::vector<const GroupMember*> members;
  std::set<SeriesId> seen;
  for (const GroupMember& m : request.members)
    if (seen.insert(m.series->id).second) members.push_back(&m);
  return members;
}

// A unit of a group: gives one value per column, the mean of its members' values.
using Source = std::vector<const GroupMember*>;

// Owners that saw the same thing at the same time are one unit.
class Owners {
 public:
  const std::string& find(const std::string& owner) {
    const std::string* name = &owner;
    for (auto it = parents_.find(*name); it != parents_.end(); it = parents_.find(*name))
      name = &it->second;
    return *name;
  }
  void unite(const std::string& a, const std::string& b) {
    const std::string root = find(a);
    if (const std::string other = find(b); other != root) parents_[other] = root;
  }

 private:
  std::map<std::string, std::string> parents_;
};

// kSharedOnce: sightings of one thing that overlap in time, directly or through others, are one.
std::vector<Source> group_sources(std::vector<const GroupMember*> members, bool shared,
                                  Owners& owners) {
  std::vector<Source> sources;
  if (shared) {
    std::ranges::stable_sort(members, [](const GroupMember* a, const GroupMember* b) {
      return std::tie(a->thing, a->first) < std::tie(b->thing, b->first);
    });
  }
  std::int64_t last = 0;
  for (const GroupMember* m : members) {
    const bool same = shared && !sources.empty() && !m->thing.empty() &&
                      sources.back().front()->thing == m->thing && m->first <= last;
    if (same) {
      owners.unite(sources.back().front()->owner, m->owner);
      sources.back().push_back(m);
      last = std::max(last, m->last);
    } else {
      sources.push_back({m});
      last = m->last;
    }
  }
  return sources;
}

struct UnitLine {
  std::vector<double> values;
  std::vector<bool> filled;
};

UnitLine make_line(const Source& source, std::size_t columns) {
  UnitLine line{.values = std::vector<double>(columns, kNone),
                .filled = std::vector<bool>(columns, false)};
  for (std::size_t i = 0; i < columns; ++i) {
    double sum = 0;
    int n = 0;
    for (const GroupMember* m : source) {
      const query::Cell& cell = m->series->cells[i];
      if (cell.count == 0) continue;
      sum += cell.mean();
      ++n;
    }
    if (n > 0) line.values[i] = sum / n;
  }
  return line;
}

void fill_holes(UnitLine& line, std::uint32_t max_hole) {
  const std::size_t columns = line.values.size();
  std::size_t before = columns;  // the last column with a value; none yet
  for (std::size_t i = 0; i < columns && max_hole > 0; ++i) {
    if (std::isnan(line.values[i])) continue;
    const std::size_t hole = before == columns ? 0 : i - before - 1;
    if (hole > 0 && hole <= max_hole) {
      const double from = line.values[before];
      const double slope = (line.values[i] - from) / static_cast<double>(i - before);
      for (std::size_t k = before + 1; k < i; ++k) {
        line.values[k] = from + slope * static_cast<double>(k - before);
        line.filled[k] = true;
      }
    }
    before = i;
  }
}

// The sources of one owner as one line.
void join(UnitLine& line, const UnitLine& other) {
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    line.values[i] += other.values[i];  // NaN: one of them has a hole
    if (other.filled[i]) line.filled[i] = true;
  }
}

// Averages are of those sources that have points.
struct Averaged {
  std::vector<double> sums;
  std::vector<std::uint32_t> counts;
};

std::vector<UnitLine> unit_lines(const std::vector<Source>& sources, Owners& owners,
                                 const GroupRequest& request) {
  const std::size_t columns = request.members.front().series->cells.size();
  const bool sums = request.aggregation != metric::Aggregation::kMean;
  std::map<std::string, std::size_t> index;
  std::vector<UnitLine> lines;
  std::vector<Averaged> averages;
  for (const Source& source : sources) {
    UnitLine line = make_line(source, columns);
    fill_holes(line, request.max_hole);
    const auto [entry, first] = index.try_emplace(owners.find(source.front()->owner), lines.size());
    if (sums) {
      if (first) {
        lines.push_back(std::move(line));
      } else {
        join(lines[entry->second], line);
      }
      continue;
    }
    if (first) {
      lines.push_back({line.values, line.filled});
      averages.push_back({.sums = std::vector<double>(columns, 0),
                          .counts = std::vector<std::uint32_t>(columns, 0)});
    }
    Averaged& average = averages[entry->second];
    for (std::size_t i = 0; i < columns; ++i) {
      if (std::isnan(line.values[i])) continue;
      average.sums[i] += line.values[i];
      ++average.counts[i];
      if (line.filled[i]) lines[entry->second].filled[i] = true;
    }
  }
  for (std::size_t u = 0; u < averages.size(); ++u)
    for (std::size_t i = 0; i < columns; ++i)
      if (averages[u].counts[i] > 0)
        lines[u].values[i] = averages[u].sums[i] / averages[u].counts[i];
  return lines;
}

class Statistics {
 public:
  Statistics(GroupAnswer& answer, std::size_t columns, bool sums) : answer_(answer), sums_(sums) {
    answer.n.assign(columns, 0);
    answer.filled.assign(columns, 0);
    for (auto* v : {&answer.mean, &answer.low, &answer.high, &answer.deviation, &answer.interval,
                    &answer.least, &answer.greatest, &answer.lower_quartile, &answer.median,
                    &answer.upper_quartile})
      v->assign(columns, kNone);
    if (sums) answer.sum.assign(columns, kNone);
  }

  void column(std::size_t i, const std::vector<UnitLine>& lines) {
    values_.clear();
    for (const UnitLine& line : lines) {
      const double v = line.values[i];
      if (!std::isfinite(v)) continue;
      values_.push_back(v);
      if (line.filled[i]) ++answer_.filled[i];
    }
    answer_.n[i] = static_cast<std::uint32_t>(values_.size());
    if (values_.empty()) return;
    moments(i);
    std::ranges::sort(values_);
    answer_.low[i] = values_.front();
    answer_.high[i] = values_.back();
    answer_.lower_quartile[i] = quantile(0.25);
    answer_.median[i] = quantile(0.5);
    answer_.upper_quartile[i] = quantile(0.75);
  }

  void envelope(const GroupMember& member) {
    for (std::size_t i = 0; i < member.series->cells.size(); ++i) {
      const query::Cell& cell = member.series->cells[i];
      answer_.not_finite += cell.not_finite;
      if (cell.count == 0) continue;
      answer_.least[i] = std::fmin(answer_.least[i], cell.min);
      answer_.greatest[i] = std::fmax(answer_.greatest[i], cell.max);
    }
  }

 private:
  void moments(std::size_t i) {
    const auto n = static_cast<double>(values_.size());
    double sum = 0;
    for (const double v : values_) sum += v;
    const double mean = sum / n;
    answer_.mean[i] = mean;
    if (sums_) answer_.sum[i] = sum;
    if (values_.size() < 2) return;
    double squares = 0;
    for (const double v : values_) squares += (v - mean) * (v - mean);
    answer_.deviation[i] = std::sqrt(squares / (n - 1));
  }

  // The p-quantile of the sorted values.
  [[nodiscard]] double quantile(double p) const {
    const double place = p * static_cast<double>(values_.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values_.size() - 1);
    return std::lerp(values_[below], values_[above], place - static_cast<double>(below));
  }

  GroupAnswer& answer_;
  bool sums_;
  std::vector<double> values_;  // the units' values in one column
};

void add_intervals(GroupAnswer& answer, const GroupRequest& request) {
  answer.reason = !request.repetitions ? IntervalReason::kNotRepetitions
                  : answer.units < 2   ? IntervalReason::kTooFew
                                       : IntervalReason::kGiven;
  if (answer.reason != IntervalReason::kGiven) return;
  std::map<std::uint32_t, double> of_one;  // by n, for a deviation of 1
  for (std::size_t i = 0; i < answer.n.size(); ++i) {
    const std::uint32_t n = answer.n[i];
    if (n < 2) continue;
    const auto [entry, first] = of_one.try_emplace(n, 0);
    if (first) entry->second = mean_interval(1, n, request.confidence);
    answer.interval[i] = answer.deviation[i] * entry->second;
  }
}

}  // namespace

std::string_view interval_reason_text(IntervalReason reason) {
  switch (reason) {
    case IntervalReason::kGiven:
      return "over repetitions, where at least two have values";
    case IntervalReason::kNotRepetitions:
      return "no interval: these are not repetitions of one another";
    case IntervalReason::kTooFew:
      return "no interval: a single repetition says nothing about others";
  }
  return "";
}

Result<GroupAnswer> aggregate_group(const GroupRequest& request) {
  TRY(check(request));
  const std::vector<const GroupMember*> members = distinct(request);
  Owners owners;
  const std::vector<Source> sources =
      group_sources(members, request.aggregation == metric::Aggregation::kSharedOnce, owners);
  const std::vector<UnitLine> lines = unit_lines(sources, owners, request);
  const std::size_t columns = request.members.front().series->cells.size();
  GroupAnswer answer;
  Statistics statistics(answer, columns, request.aggregation != metric::Aggregation::kMean);
  answer.units = static_cast<std::uint32_t>(lines.size());
  answer.counted_once = static_cast<std::uint32_t>(request.members.size() - sources.size());
  for (std::size_t i = 0; i < columns; ++i) statistics.column(i, lines);
  for (const GroupMember* m : members) {
    statistics.envelope(*m);
    answer.exact = answer.exact && m->series->exact;
  }
  add_intervals(answer, request);
  return answer;
}

}  // namespace corral::analyze
