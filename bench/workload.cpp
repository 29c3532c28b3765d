#include "workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace corral::bench {
namespace {

// When every run begins: 2026-01-01, two minutes after boot.
constexpr std::int64_t kBootNs = 120'000'000'000;
constexpr std::int64_t kUtcNs = 1'767'225'600'000'000'000;

template <class Id>
Id id_from(std::uint64_t seed) {
  Random random(seed);
  Id id;
  for (auto& byte : id.bytes) byte = static_cast<std::uint8_t>(random.bits() >> 32);
  return id;
}

std::uint64_t id_seed(const Workload& workload, std::size_t run, std::size_t what) {
  constexpr std::size_t kIds = 1u << 30;  // no series has this number
  return series_seed(workload.seed, run, kIds + what);
}

}  // namespace

Shape shape_of(const Workload& workload, std::size_t series) {
  switch (workload.mix) {
    case Mix::kMixed:
      return mixed_shape(series);
    case Mix::kHardware:
      return hardware_shape(series);
    case Mix::kTraining:
      return static_cast<Shape>(kHardwareShapes + series % (kShapes - kHardwareShapes));
    case Mix::kWattsOnly:
      return Shape::kWatts;
  }
  return Shape::kConstant;
}

std::string series_name(const Workload& workload, std::size_t series) {
  return fmt::format("{}.{}", shape_name(shape_of(workload, series)), series);
}

std::string run_name(std::size_t number) { return fmt::format("run-{}", number); }

RunSource::RunSource(const Workload& workload, std::size_t run)
    : workload_(workload), number_(run), run_(id_from<RunId>(id_seed(workload, run, 0))) {
  std::vector<std::size_t> hardware;
  std::vector<std::size_t> training;
  for (std::size_t s = 0; s < workload.series; ++s)
    (is_hardware(shape_of(workload, s)) ? hardware : training).push_back(s);
  sessions_.push_back(make_session("supervisor", false, std::move(hardware)));
  if (!training.empty()) sessions_.push_back(make_session("process", true, std::move(training)));
}

RunSource::Session RunSource::make_session(std::string role, bool steps,
                                           std::vector<std::size_t> series) {
  const std::size_t what = 1 + sessions_.size();
  Session session{.id = id_from<SessionId>(id_seed(workload_, number_, what)),
                  .role = std::move(role),
                  .steps = steps,
                  .times = Times(id_seed(workload_, number_, 100 + what), workload_.hz),
                  .series = std::move(series),
                  .generators = {}};
  for (const std::size_t s : session.series) {
    session.generators.emplace_back(shape_of(workload_, s),
                                    series_seed(workload_.seed, number_, s));
  }
  return session;
}

codec::FrameHeader RunSource::Session::next() {
  ++sequence;
  return {.kind = {}, .session = id, .first = sequence, .last = sequence};
}

std::vector<codec::Bytes> RunSource::describe() {
  std::vector<codec::Bytes> frames;
  for (Session& session : sessions_) {
    const codec::SessionBody body{
        .run = run_,
        .workload = own_workload_of(run_),
        .experiment = "bench",
        .workload_name = "",
        .run_name = run_name(number_),
        .host = "bench",
        .machine = {},
        .role = session.role,
        .pid = 1,
        .rank = {},
        .boot_id = "bench",
        .anchor = {.utc_minus_boot = Nanos(kUtcNs - kBootNs), .error = Nanos(100)},
        .started = boot_time(kBootNs)};
    frames.push_back(codec::encode(session.next(), body));
    codec::Bundle bundle;
    bundle.add(schema(session));
    if (!bundle.empty()) frames.push_back(bundle.finish(session.next()));
  }
  return frames;
}

codec::SchemaBody RunSource::schema(const Session& session) const {
  codec::SchemaBody schema;
  for (std::size_t i = 0; i < session.series.size(); ++i) {
    const std::size_t s = session.series[i];
    codec::SeriesDef def;
    def.id = static_cast<std::uint32_t>(i + 1);
    def.name = series_name(workload_, s);
    if (is_counter(shape_of(workload_, s))) def.kind = metric::Kind::kCounter;
    schema.series.push_back(std::move(def));
  }
  return schema;
}

codec::Bytes RunSource::samples(Session& session, std::size_t rows) const {
  codec::SampleGroup group;
  std::vector<std::int64_t> times(rows);
  session.times.next(times);
  for (const std::int64_t t : times) group.times.push_back(boot_time(kBootNs + t));
  if (rows > 0) session.newest = kBootNs + times.back();
  for (std::size_t r = 0; session.steps && r < rows; ++r)
    group.steps.push_back(session.rows + static_cast<std::int64_t>(r));
  session.rows += static_cast<std::int64_t>(rows);
  group.columns.reserve(session.generators.size());
  for (std::size_t i = 0; i < session.generators.size(); ++i) {
    codec::Column column{.series = static_cast<std::uint32_t>(i + 1), .present = {}, .values = {}};
    column.values.resize(rows);
    session.generators[i].next(column.values);
    group.columns.push_back(std::move(column));
  }
  codec::Bundle bundle;
  bundle.add(codec::SamplesBody{.groups = {std::move(group)}});
  return bundle.finish(session.next());
}

std::vector<codec::Bytes> RunSource::flush(std::size_t rows) {
  std::vector<codec::Bytes> frames;
  for (Session& session : sessions_) {
    if (!session.series.empty()) frames.push_back(samples(session, rows));
  }
  return frames;
}

std::vector<codec::Bytes> RunSource::finish() {
  Session& supervisor = sessions_.front();
  std::int64_t newest = kBootNs;
  for (const Session& session : sessions_) newest = std::max(newest, session.newest);
  codec::RunEndBody end;
  end.time = boot_time(newest);
  end.reason = codec::EndReason::kExit;
  end.exit_code = 0;
  return {codec::encode(supervisor.next(), end)};
}

}  // namespace corral::bench
