// Ingest and queries of the store, called as the server calls it: in one process, without HTTP.
//
//   corral_bench_store BENCH [--store DIR|URL] [--NAME VALUE ...]
//
// Prints one JSON object. docs/benchmarks.md says what each measures; bench/store.py runs them.
#include "bench_store.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "measure.h"

namespace corral::bench {
namespace {

Mix mix_named(const std::string& name) {
  if (name == "hardware") return Mix::kHardware;
  if (name == "training") return Mix::kTraining;
  if (name == "watts") return Mix::kWattsOnly;
  if (name != "mixed") give_up("--mix is mixed, hardware, training or watts");
  return Mix::kMixed;
}

std::string name_of(Mix mix) {
  switch (mix) {
    case Mix::kMixed:
      return "mixed";
    case Mix::kHardware:
      return "hardware";
    case Mix::kTraining:
      return "training";
    case Mix::kWattsOnly:
      return "watts";
  }
  return "";
}

std::filesystem::path temporary_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "corral-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) give_up("no temporary directory");
  return pattern;
}

}  // namespace

Bench::Bench(std::string name, Flags given) : flags(std::move(given)) {
  const std::string at = flags.text("work", "");
  work = at.empty() ? temporary_directory() : std::filesystem::path(at);
  keep_ = !at.empty();
  store.location = flags.text("store", (work / "store").string());
  store.database = static_cast<pid_t>(flags.count("database-pid", 0));
  store.data = flags.text("database-data", "");
  report("bench", std::move(name));
  report("engine", store.embedded() ? "SQLite" : "PostgreSQL");
}

Bench::~Bench() {
  std::error_code error;
  if (!keep_) std::filesystem::remove_all(work, error);
}

Workload Bench::workload(Workload w) {
  w.runs = flags.count("runs", static_cast<double>(w.runs));
  w.series = flags.count("series", static_cast<double>(w.series));
  w.hz = flags.number("hz", w.hz);
  w.mix = mix_named(flags.text("mix", name_of(w.mix)));
  w.seed = flags.count("seed", static_cast<double>(w.seed));
  report("runs", static_cast<std::int64_t>(w.runs));
  report("series", static_cast<std::int64_t>(w.series));
  report("mix", name_of(w.mix));
  return w;
}

void Bench::report(std::string name, Json value) { out_.set(std::move(name), std::move(value)); }

void Bench::print() { fmt::print("{}\n", out_.dump()); }

void load(store::Store& store, const Load& load) {
  // largest total of waiting frames that one append takes
  constexpr std::size_t kPointsPerAppend = 200'000;
  std::vector<codec::Bytes> waiting;
  std::size_t points = 0;
  const auto take = [&] {
    append(store, {waiting.begin(), waiting.end()});
    waiting.clear();
    points = 0;
  };
  const auto add = [&](std::vector<codec::Bytes> frames) {
    std::ranges::move(frames, std::back_inserter(waiting));
  };
  for (std::size_t run = 0; run < load.workload.runs; ++run) {
    RunSource source(load.workload, run);
    add(source.describe());
    for (std::size_t row = 0; row < load.rows; row += load.flush_rows) {
      const std::size_t rows = std::min(load.flush_rows, load.rows - row);
      add(source.flush(rows));
      points += rows * load.workload.series;
      if (points >= kPointsPerAppend) take();
    }
    add(source.finish());
  }
  take();
}

void report_sizes(Bench& bench, store::Store* store, double points) {
  if (store != nullptr) {
    const auto info = must(store->info(), "info");
    bench.report("store_bytes_per_point", static_cast<double>(info.bytes) / points);
  }
  const auto files = bench.store.files();
  if (!files.empty())
    bench.report("bytes_per_point", static_cast<double>(bytes_on_disk(files)) / points);
}

}  // namespace corral::bench

int main(int argc, char** argv) {
  using corral::bench::Bench;
  using corral::bench::Flags;
  const std::map<std::string, std::function<void(Bench&)>> benches{
      {"ingest", corral::bench::bench_ingest}, {"captured", corral::bench::bench_captured},
      {"shapes", corral::bench::bench_shapes}, {"pack", corral::bench::bench_pack},
      {"dump", corral::bench::bench_dump},     {"chart", corral::bench::bench_chart},
      {"page", corral::bench::bench_page},     {"group", corral::bench::bench_group},
      {"small", corral::bench::bench_small},   {"open", corral::bench::bench_open},
      {"live", corral::bench::bench_live}};
  const auto found = benches.find(argc > 1 ? argv[1] : "");
  if (found == benches.end()) {
    fmt::print(stderr, "corral_bench_store BENCH [--NAME VALUE ...]; BENCH is one of:");
    for (const auto& [name, run] : benches) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  Bench bench(found->first, Flags(argc, argv, 2));
  found->second(bench);
  bench.print();
  return 0;
}
