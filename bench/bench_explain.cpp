// Explain of a long run: 10 h, 300 series at 10 Hz, 10^6 phases; and compare of 200 short ones, of
// a minute with 30 series and 4,000 phases each. The routes of `corral explain` and `corral
// compare`, answered by the server's handlers in this process, without HTTP and each for the first
// time.
//
//   corral_bench_explain [--store DIR|URL] [--hours 10] [--series 300] [--steps 249750] [--ranks 1]
//     [--only explain|footprint|interest|compare] [--runs 200]
//
// A step has four phases, an epoch a thousand steps; the steps are divided among the ranks. A store
// that holds the run is only read. Prints one JSON object: CPU seconds of each route, and the
// memory above that before it.
#include <fmt/core.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <string>

#include "analyze/explain/bottleneck.h"
#include "core/json.h"
#include "flags.h"
#include "measure.h"
#include "server/core/router.h"
#include "shapes.h"
#include "store_access.h"

namespace corral::bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 120 * kSecond;  // since boot
constexpr std::size_t kStepsOfEpoch = 1000;
constexpr double kHz = 10;

struct Size {
  std::int64_t seconds = 0;
  std::size_t series = 0, steps = 0, ranks = 0;  // steps: of each rank
  [[nodiscard]] std::int64_t step_ns() const {
    return seconds * kSecond / static_cast<std::int64_t>(steps);
  }
};

// A run's sessions: a supervisor's with the series, a process's with the phases of each rank.
class ExplainedRun {
 public:
  ExplainedRun(const Size& size, std::string name) : size_(size), name_(std::move(name)) {}

  void fill(store::Store& store) {
    fill_series(store);
    for (std::size_t rank = 0; rank < size_.ranks; ++rank) fill_phases(store, rank);
    codec::RunEndBody end;
    end.time = boot_time(kBegin + size_.seconds * kSecond);
    end.exit_code = 0;
    append(store, {codec::encode(next(supervisor_), end)});
  }

 private:
  struct Session {
    SessionId id = SessionId::random();
    std::uint64_t sequence = 0;
  };
  static codec::FrameHeader next(Session& session) {
    ++session.sequence;
    return {.kind = {}, .session = session.id, .first = session.sequence, .last = session.sequence};
  }
  static void append(store::Store& store, const std::vector<codec::Bytes>& frames) {
    bench::append(store, {frames.begin(), frames.end()});
  }

  [[nodiscard]] codec::SessionBody body(std::string role) const {
    return {.run = run_,
            .workload = own_workload_of(run_),
            .experiment = "bench",
            .workload_name = "",
            .run_name = name_,
            .host = "node",
            .machine = {},
            .role = std::move(role),
            .pid = 1,
            .rank = {},
            .boot_id = "boot",
            .anchor = {.utc_minus_boot = Nanos(1'790'000'000 * kSecond), .error = Nanos(100)},
            .started = boot_time(kBegin)};
  }

  [[nodiscard]] codec::SchemaBody schema() const {
    const auto explained = analyze::bottleneck_metrics();
    codec::SchemaBody schema;
    for (std::size_t i = 0; i < size_.series; ++i) {
      const bool counter = is_counter(hardware_shape(i));
      schema.series.push_back({.id = static_cast<std::uint32_t>(i + 1),
                               .kind = counter ? metric::Kind::kCounter : metric::Kind::kGauge,
                               .name = std::string(explained[i % explained.size()]),
                               .source = fmt::format("{}", i / explained.size()),
                               .unit = {}});
    }
    return schema;
  }

  void fill_series(store::Store& store) {
    constexpr std::size_t kRows = 600;  // a minute of them at once
    append(store, {codec::encode(next(supervisor_), body("supervisor")),
                   codec::encode(next(supervisor_), schema())});
    std::vector<Generator> generators;
    for (std::size_t i = 0; i < size_.series; ++i)
      generators.emplace_back(hardware_shape(i), series_seed(1, 0, i));
    Times clock(1, kHz);
    std::vector<std::int64_t> times(kRows);
    const auto rows = static_cast<std::size_t>(static_cast<double>(size_.seconds) * kHz);
    for (std::size_t row = 0; row < rows; row += kRows) {
      clock.next(times);
      codec::SampleGroup group;
      for (const std::int64_t time : times) group.times.push_back(boot_time(kBegin + time));
      for (std::size_t i = 0; i < size_.series; ++i) {
        codec::Column column{
            .series = static_cast<std::uint32_t>(i + 1), .present = {}, .values = {}};
        column.values.resize(kRows);
        generators[i].next(column.values);
        group.columns.push_back(std::move(column));
      }
      append(store, {codec::encode(next(supervisor_), codec::SamplesBody{{std::move(group)}})});
    }
  }

  // [from, to) of a step, as parts of its length.
  codec::PhaseRecord phase(std::string type, std::size_t step, double from, double to) {
    const std::int64_t begin = kBegin + static_cast<std::int64_t>(step) * size_.step_ns();
    const auto part = [&](double at) {
      return boot_time(begin +
                       static_cast<std::int64_t>(at * static_cast<double>(size_.step_ns())));
    };
    codec::PhaseRecord record;
    record.id = ++phases_;
    record.begin = part(from);
    record.end = part(to);
    record.name = type.substr(type.rfind('/') + 1);
    record.type = std::move(type);
    return record;
  }

  void fill_phases(store::Store& store, std::size_t rank) {
    Session session;
    append(store, {codec::encode(next(session), body("process"))});
    Random random(rank);
    codec::PhasesBody body;
    const auto add = [&](codec::PhaseRecord record, std::uint64_t parent) {
      record.parent = parent;
      record.lane = fmt::format("node/rank{}/{}/MainThread", rank, 4711 + rank);
      body.phases.push_back(std::move(record));
      return body.phases.back().id;
    };
    std::uint64_t epoch = 0;
    for (std::size_t step = 0; step < size_.steps; ++step) {
      if (step % kStepsOfEpoch == 0) {
        const std::size_t steps = std::min(kStepsOfEpoch, size_.steps - step);
        epoch = add(phase("epoch", step, 0, static_cast<double>(steps)), 0);
        body.phases.back().attributes = {{"index", fmt::format("{}", step / kStepsOfEpoch)}};
      }
      const std::uint64_t outer = add(phase("epoch/step", step, 0, 0.97), epoch);
      add(phase("epoch/step/data wait", step, 0, random.uniform(0.1, 0.3)), outer);
      body.phases.back().kind = codec::PhaseKind::kWait;
      add(phase("epoch/step/backward", step, 0.5, 0.85), outer);
      add(phase("epoch/step/optimizer", step, 0.85, 0.96), outer);
      if (body.phases.size() < 1000 && step + 1 < size_.steps) continue;
      append(store, {codec::encode(next(session), body)});
      body.phases.clear();
    }
  }

  Size size_;
  std::string name_;
  RunId run_ = RunId::random();
  Session supervisor_;
  std::uint64_t phases_ = 0;
};

std::int64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096;
}

// A body makes it a POST.
void ask(server::Context& context, const std::string& path, const std::string& body) {
  server::Request request;
  if (!server::parse_target(path, request)) give_up("no such path: " + path);
  if (!body.empty()) request.method = server::Method::kPost;
  request.body = body;
  server::Response response = server::route(std::move(request), context);
  if (response.late) response = response.late([] { return false; });
  if (response.status != 200) give_up(path + ": " + response.body);
}

struct Asked {
  std::string name, path, body = {};
};

void measure(server::Context& context, const Asked& asked, Json& out) {
  reset_peak_rss();
  const std::int64_t before = resident();
  const double cpu = process_cpu();
  ask(context, asked.path, asked.body);
  Json found{Json::Object{}};
  found.set("cpu_s", process_cpu() - cpu);
  found.set("memory_mib", static_cast<double>(peak_rss() - before) / (1 << 20));
  out.set(asked.name, std::move(found));
}

void measure_all(server::Context& context, const std::string& only, Json& out) {
  const RunId id = run_named(context.store, "long");
  const auto run = must(context.reader.run(id), "run");
  const std::string path = fmt::format("/api/corral/v1/runs/{}/", id.hex());
  for (const char* route : {"explain", "footprint", "interest"})
    if (only.empty() || only == route) measure(context, {route, path + route}, out);
  // Another question of the same run, which no kept answer has.
  if (only.empty())
    measure(context,
            {"explain_again", path + fmt::format("explain?from_ns={}", ns_of(run->start) + 1)},
            out);
  if (only.empty() || only == "compare")
    measure(
        context,
        {"compare", "/api/corral/v1/compare", R"({"groups": [{"named": "a"}, {"named": "b"}]})"},
        out);
}

void fill_store(store::Store& store, const Size& size, std::size_t runs) {
  ExplainedRun(size, "long").fill(store);
  const Size of_short{.seconds = 60, .series = 30, .steps = 1000, .ranks = 1};
  for (std::size_t i = 0; i < runs; ++i) ExplainedRun(of_short, i % 2 == 0 ? "a" : "b").fill(store);
  settle(store);
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) {
  using namespace corral;
  bench::Flags flags(argc, argv, 1);
  const std::size_t ranks = flags.count("ranks", 1);
  const bench::Size size{.seconds = static_cast<std::int64_t>(flags.number("hours", 10) * 3600),
                         .series = flags.count("series", 300),
                         .steps = flags.count("steps", 249'750) / ranks,
                         .ranks = ranks};
  std::string pattern = (std::filesystem::temp_directory_path() / "corral-bench-XXXXXX").string();
  const bool own = flags.text("store", "").empty();
  if (own && ::mkdtemp(pattern.data()) == nullptr) bench::give_up("no temporary directory");
  const bench::StoreSpec spec{.location = flags.text("store", pattern + "/store"), .data = {}};
  const std::string only = flags.text("only", "");
  const std::size_t runs = flags.count("runs", 200);
  flags.finish();
  Json out{Json::Object{}};
  {
    const auto store = bench::open_store(spec);
    if (bench::must(store::Reader(*store, store::Access::everything()).find_runs("long"), "find")
            .empty())
      bench::fill_store(*store, size, runs);
    server::EventHub events;
    server::Context context{
        *store, {*store, store::Access::everything()}, events, {"bench", utc_time(0)}, [] {}};
    bench::measure_all(context, only, out);
  }
  fmt::print("{}\n", out.dump());
  std::error_code ignored;
  if (own) std::filesystem::remove_all(pattern, ignored);
}
