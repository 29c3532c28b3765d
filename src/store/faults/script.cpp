#include "store/faults/script.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace corral::store::faults {
namespace {

constexpr std::int64_t kInterval = 100'000'000;  // 10 Hz
constexpr std::int64_t kHour = 3'600'000'000'000;

std::string series_name(std::size_t index) { return "metric/" + std::to_string(index); }

}  // namespace

Script::Script(std::uint64_t seed, ScriptShape shape)
    : random_(seed), shape_(shape), run_(id<RunId>()) {}

template <class Id>
Id Script::id() {
  Id id;
  std::ranges::generate(id.bytes, [&] { return static_cast<std::uint8_t>(random_()); });
  return id;
}

Frames Script::next() {
  const std::size_t before_sessions = sessions_.size();
  if (sessions_.empty() || (sessions_.size() < shape_.sessions && chance(10))) begin();
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i < sessions_.size(); ++i)
    before.push_back(i < before_sessions ? sessions_[i].sent.size() : 0);
  for (std::size_t n = 1 + pick(3); n > 0; --n)
    add_samples_frame(sessions_[pick(sessions_.size())]);
  Frames frames;
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    const auto& sent = sessions_[i].sent;
    for (std::size_t k = before[i]; k < sent.size(); ++k) frames.push_back(sent[k].frame);
  }
  return frames;
}

Frames Script::again() {
  Frames frames;
  if (sessions_.empty()) return frames;
  const auto& sent = sessions_[pick(sessions_.size())].sent;
  const std::size_t first = pick(sent.size());
  const std::size_t last = std::min(sent.size(), first + 1 + pick(4));
  for (std::size_t i = first; i < last; ++i) frames.push_back(sent[i].frame);
  return frames;
}

Frames Script::above(const Durable& durable) const {
  Frames frames;
  for (const Session& session : sessions_) {
    const auto known = durable.find(session.writer.id());
    const std::uint64_t to = known == durable.end() ? 0 : known->second;
    for (const Sent& sent : session.sent) {
      if (sent.frame.header.last > to) frames.push_back(sent.frame);
    }
  }
  return frames;
}

Durable Script::sent() const {
  Durable durable;
  for (const Session& session : sessions_)
    durable[session.writer.id()] = session.sent.back().frame.header.last;
  return durable;
}

bool Script::ends_at(const Durable& durable) const {
  return std::ranges::all_of(sessions_, [&](const Session& session) {
    const auto known = durable.find(session.writer.id());
    return known == durable.end() || known->second == 0 ||
           std::ranges::any_of(session.sent, [&](const Sent& sent) {
             return sent.frame.header.last == known->second;
           });
  });
}

ScriptPoints Script::points(const Durable& durable) const {
  ScriptPoints points;
  for (const Session& session : sessions_) {
    const auto known = durable.find(session.writer.id());
    const std::uint64_t to = known == durable.end() ? 0 : known->second;
    for (const Sent& sent : session.sent) {
      if (sent.frame.header.last > to) break;
      for (const auto& [series, point] : sent.points) points[series].push_back(point);
    }
  }
  return points;
}

// A session describes itself and its series; every other clock stands an hour further back.
void Script::begin() {
  Session& session = sessions_.emplace_back(id<SessionId>());
  session.utc_minus_boot =
      testing::kUtcMinusBoot - kHour * static_cast<std::int64_t>(sessions_.size() % 2);
  if (chance(70)) session.step = 0;
  codec::SessionBody body = testing::session_body(run_);
  body.anchor.utc_minus_boot = Nanos(session.utc_minus_boot);
  codec::SchemaBody schema;
  const auto offset = static_cast<std::uint32_t>(1 + pick(1000));
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.series); ++i) {
    session.series.push_back(offset + static_cast<std::uint32_t>(i));
    schema.series.push_back(testing::series_def(session.series.back(), series_name(i)));
  }
  session.sent.push_back({.frame = session.writer.frame(body), .points = {}});
  session.sent.push_back({.frame = session.writer.frame(schema), .points = {}});
}

void Script::add_samples_frame(Session& session) {
  Sent sent;
  codec::SamplesBody samples;
  for (std::size_t n = 1 + pick(2); n > 0; --n) samples.groups.push_back(group(session, sent));
  const std::uint64_t numbers = 1 + pick(5);
  if (chance(30)) {
    codec::Bundle bundle;
    bundle.add(samples);
    bundle.add(codec::FactsBody{.facts = {{codec::FactKind::kTag, "last", "bundle"}}});
    sent.frame = session.writer.bundle(bundle, numbers);
  } else {
    sent.frame = session.writer.frame(samples, numbers);
  }
  session.sent.push_back(std::move(sent));
}

codec::SampleGroup Script::group(Session& session, Sent& sent) {
  codec::SampleGroup group;
  fill_times(session, group);
  for (std::size_t i = 0; i < session.series.size(); ++i) {
    if (chance(30)) continue;
    codec::Column column{.series = session.series[i], .present = {}, .values = {}};
    const bool sparse = chance(20);
    for (std::size_t row = 0; row < group.times.size(); ++row) {
      if (sparse) column.present.push_back(chance(50));
      if (sparse && !column.present.back()) continue;
      column.values.push_back(value());
      sent.points.emplace_back(
          series_name(i),
          ScriptPoint{.time = ns_of(group.times[row]) + session.utc_minus_boot,
                      .step = group.steps.empty() ? std::nullopt : std::optional(group.steps[row]),
                      .bits = std::bit_cast<std::uint64_t>(column.values.back())});
    }
    group.columns.push_back(std::move(column));
  }
  return group;
}

void Script::fill_times(Session& session, codec::SampleGroup& group) {
  const std::size_t rows = 1 + (chance(shape_.large) ? pick(shape_.rows) : pick(8));
  if (session.step && chance(10)) *session.step -= static_cast<std::int64_t>(pick(5000));
  const bool steps = session.step.has_value() && chance(90);
  const std::int64_t late =
      chance(15) ? static_cast<std::int64_t>(pick(10'000)) * kInterval / 10 : 0;
  const bool disordered = chance(10);
  for (std::size_t row = 0; row < rows; ++row) {
    if (!chance(5)) session.now += kInterval + static_cast<std::int64_t>(pick(1'000'000)) - 500'000;
    const std::int64_t back =
        disordered ? static_cast<std::int64_t>(pick(20)) * kInterval : std::int64_t{0};
    group.times.push_back(boot_time(session.now - late - back));
    if (steps) group.steps.push_back((*session.step)++);
  }
}

double Script::value() {
  using Limits = std::numeric_limits<double>;
  static const std::array<double, 10> special = {
      0.0,
      -0.0,
      Limits::infinity(),
      -Limits::infinity(),
      Limits::quiet_NaN(),
      std::bit_cast<double>(std::uint64_t{0xFFF8'0000'0000'BEEF}),
      Limits::denorm_min(),
      Limits::max(),
      9007199254740992.0,
      -9007199254740993.0};
  if (chance(4)) return special.at(pick(special.size()));
  if (chance(10)) return std::bit_cast<double>(random_() >> 2);
  return static_cast<double>(pick(100'000)) / 100;
}

}  // namespace corral::store::faults
