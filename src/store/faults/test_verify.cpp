#include "store/faults/test_verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "store/faults/levels.h"

namespace corral::store::faults {
namespace {

std::string describe(const ScriptPoint& point) {
  return fmt::format("({} ns, step {}, {:016x})", point.time,
                     point.step ? std::to_string(*point.step) : "none", point.bits);
}

std::string difference(const std::string& series, const std::vector<ScriptPoint>& wanted,
                       const std::vector<ScriptPoint>& found) {
  const auto [w, f] = std::ranges::mismatch(wanted, found);
  if (w == wanted.end() && f == found.end()) return {};
  std::string text = fmt::format("{}: {} points, wanted {}; ", series, found.size(), wanted.size());
  if (f == found.end() || (w != wanted.end() && *w < *f))
    return text + describe(*w) + " is missing";
  return text + describe(*f) + " is too many";
}

// Over finite values: the extremes, and whatever may stand as the newest.
std::string statistics_problem(const Series& series, const std::vector<ScriptPoint>& points) {
  const auto at = [&](const char* what) { return series.name + ": wrong " + what; };
  if (series.points != static_cast<std::int64_t>(points.size())) return at("count");
  if (points.empty()) return {};
  if (ns_of(series.first) != points.front().time) return at("first time");
  if (ns_of(series.last_time) != points.back().time) return at("last time");
  std::int64_t nan = 0;
  std::optional<double> low, high;
  std::optional<std::int64_t> newest;
  for (const ScriptPoint& point : points) {
    const auto value = std::bit_cast<double>(point.bits);
    if (!std::isfinite(value)) {
      ++nan;
      continue;
    }
    low = std::min(low.value_or(value), value);
    high = std::max(high.value_or(value), value);
    newest = point.time;
  }
  if (series.nan != nan) return at("count of NaN");
  if (series.min != low || series.max != high) return at("extremes");
  if (series.last.has_value() != newest.has_value()) return at("last value");
  const bool stands = !newest || std::ranges::any_of(points, [&](const ScriptPoint& point) {
    return point.time == *newest && std::bit_cast<double>(point.bits) == *series.last;
  });
  return stands ? "" : at("last value");
}

std::string compare(Store& store, const Script& script, const Durable& durable) {
  const auto series = reader_of(store).series_of(script.run());
  auto reading = read_points(store, script);
  if (!series || !reading) return "reading: " + (series ? reading.error() : series.error()).message;
  if (reading->damaged > 0) return std::to_string(reading->damaged) + " rows are damaged";
  ScriptPoints& found = reading->points;
  ScriptPoints wanted = script.points(durable);
  for (const Series& one : *series) {
    std::ranges::sort(wanted[one.name]);
    std::string problem = difference(one.name, wanted[one.name], found[one.name]);
    if (problem.empty()) problem = statistics_problem(one, wanted[one.name]);
    if (!problem.empty()) return problem;
    wanted.erase(one.name);
  }
  return wanted.empty() ? "" : "series " + wanted.begin()->first + " is missing";
}

}  // namespace

Result<Durable> durable_of(Store& store, const Script& script) {
  Durable durable;
  for (const auto& [session, last] : script.sent()) {
    if (const auto ack = TRY(store.session(session))) durable[session] = ack->durable_seq;
  }
  return durable;
}

Result<Reading> read_points(Store& store, const Script& script) {
  std::map<SeriesId, std::string> names;
  std::vector<SeriesId> ids;
  for (const Series& series : TRY(reader_of(store).series_of(script.run()))) {
    names[series.id] = series.name;
    ids.push_back(series.id);
  }
  Reading reading;
  const auto read = [&](PointView& view) -> Result<> {
    for (const auto& [id, name] : names) {
      SeriesReading one = TRY(read_series(view, id));
      std::ranges::sort(one.points);
      reading.points[name] = std::move(one.points);
      reading.damaged += one.damaged;
    }
    return {};
  };
  TRY(reader_of(store).view(ids, read));
  return reading;
}

std::string problem_of(Store& store, const Script& script, const Durable& acknowledged) {
  const auto durable = durable_of(store, script);
  if (!durable) return "sessions: " + durable.error().message;
  const Durable sent = script.sent();
  for (const auto& [session, last] : sent) {
    const auto stored = durable->find(session);
    const auto acked = acknowledged.find(session);
    const std::uint64_t there = stored == durable->end() ? 0 : stored->second;
    const std::uint64_t least = acked == acknowledged.end() ? 0 : acked->second;
    if (there < least || there > last) {
      return fmt::format("session {}: stored up to {}, acknowledged {}, sent {}", session.hex(),
                         there, least, last);
    }
  }
  if (!script.ends_at(*durable)) return "part of a frame is counted as stored";
  return compare(store, script, *durable);
}

}  // namespace corral::store::faults
