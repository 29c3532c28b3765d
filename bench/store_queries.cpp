// chart, page, group, small, open, live: what a store answers.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "bench_store.h"
#include "measure.h"
#include "sys/clock.h"

namespace corral::bench {
namespace {

constexpr double kShortestWindow = 1500;  // points
constexpr double kNsPerS = 1e9;

// Windows whose length is spread evenly over orders of magnitude, anywhere in the run.
class Windows {
 public:
  Windows(double rows, double hz, std::uint64_t seed) : rows_(rows), hz_(hz), random_(seed) {}
  Window next() {
    const double shortest = std::min(kShortestWindow, rows_);
    const double length = shortest * std::pow(rows_ / shortest, random_.uniform());
    const double first = random_.uniform(0, rows_ - length);
    return {.from = at(first), .to = at(first + length)};
  }

 private:
  [[nodiscard]] std::int64_t at(double row) const {
    return kRunBegin + static_cast<std::int64_t>(row / hz_ * kNsPerS);
  }
  double rows_;
  double hz_;
  Random random_;
};

void report_times(Bench& bench, const std::string& name, const std::vector<double>& times_ms) {
  bench.report(name + "_p50_ms", percentile(times_ms, 0.5));
  bench.report(name + "_p99_ms", percentile(times_ms, 0.99));
  bench.report(name + "_max_ms", percentile(times_ms, 1));
}

template <class Ask>
std::vector<double> timed(std::size_t rounds, Ask&& ask) {
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds; ++i) {
    const Stopwatch watch;
    ask();
    times.push_back(watch.ms());
  }
  return times;
}

// A store of this content: found at --store (--load 0), or loaded.
std::unique_ptr<store::Store> loaded(Bench& bench, const Load& what) {
  const bool wanted = bench.flags.count("load", 1) != 0;
  bench.flags.finish();
  auto store = open_store(bench.store);
  const double points = static_cast<double>(what.rows * what.workload.series * what.workload.runs);
  if (wanted) {
    const Stopwatch watch;
    load(*store, what);
    settle(*store);
    bench.report("load_s", watch.seconds());
  }
  bench.report("points", points);
  report_sizes(bench, store.get(), points);
  return store;
}

void restart(Bench& bench, std::unique_ptr<store::Store>& store, bool cold) {
  store.reset();
  if (cold && !bench.store.files().empty()) drop_page_cache(bench.store.files());
  store = open_store(bench.store);
}

std::vector<double> cold_charts(Bench& bench, std::unique_ptr<store::Store>& store, ChartAsk ask,
                                Windows windows, std::size_t rounds) {
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds; ++i) {
    restart(bench, store, true);
    ask.window = windows.next();
    const Stopwatch watch;
    chart(*store, ask);
    times.push_back(watch.ms());
  }
  return times;
}

}  // namespace

void bench_chart(Bench& bench) {
  const Workload workload = bench.workload({.runs = 1, .series = 1, .mix = Mix::kWattsOnly});
  const std::size_t rows = bench.flags.count("points", 1e8);
  const std::size_t rounds = bench.flags.count("charts", 400);
  const std::size_t cold_rounds = bench.flags.count("cold-charts", 50);
  ChartAsk ask;
  ask.width = static_cast<std::uint32_t>(bench.flags.count("width", 1500));
  const std::size_t flush_rows = bench.flags.count("flush-rows", 1000);
  auto store = loaded(bench, {.workload = workload, .rows = rows, .flush_rows = flush_rows});
  restart(bench, store, false);
  ask.series = series_of(*store, run_named(*store, run_name(0)));
  const auto rows_f = static_cast<double>(rows);
  for (const bool exact : {false, true}) {
    ask.exact = exact;
    Windows windows(rows_f, workload.hz, 7);
    reset_peak_rss();
    report_times(bench, exact ? "exact" : "aligned", timed(rounds, [&] {
                   ask.window = windows.next();
                   chart(*store, ask);
                 }));
    const std::string cold = exact ? "exact_cold" : "aligned_cold";
    report_times(bench, cold,
                 cold_charts(bench, store, ask, Windows(rows_f, workload.hz, 8), cold_rounds));
  }
  bench.report("peak_rss_mib", static_cast<double>(peak_rss()) / (1 << 20));
}

void bench_page(Bench& bench) {
  const Workload workload = bench.workload({.runs = 1, .series = 500});
  const std::size_t rows = bench.flags.count("rows", 36'000);
  const std::size_t charts = bench.flags.count("charts", 100);
  const std::size_t rounds = bench.flags.count("rounds", 20);
  auto store = loaded(bench, {.workload = workload, .rows = rows, .flush_rows = 10});
  restart(bench, store, false);
  ChartAsk ask;
  ask.series = series_of(*store, run_named(*store, run_name(0)));
  ask.series.resize(std::min(charts, ask.series.size()));
  report_times(bench, "first", timed(1, [&] { chart(*store, ask); }));
  Windows windows(static_cast<double>(rows), workload.hz, 9);
  report_times(bench, "page", timed(rounds, [&] { chart(*store, ask); }));
  report_times(bench, "zoomed", timed(rounds, [&] {
                 ask.window = windows.next();
                 chart(*store, ask);
               }));
}

void bench_group(Bench& bench) {
  const Workload workload = bench.workload({.runs = 100, .series = 1, .mix = Mix::kWattsOnly});
  const std::size_t rows = bench.flags.count("points", 1e6);
  const std::size_t rounds = bench.flags.count("rounds", 20);
  const std::size_t flush_rows = bench.flags.count("flush-rows", 1000);
  auto store = loaded(bench, {.workload = workload, .rows = rows, .flush_rows = flush_rows});
  restart(bench, store, false);
  ChartAsk ask;
  for (std::size_t run = 0; run < workload.runs; ++run)
    ask.series.push_back(series_of(*store, run_named(*store, run_name(run))).front());
  report_times(bench, "first", timed(1, [&] { group_mean(*store, ask); }));
  report_times(bench, "group", timed(rounds, [&] { group_mean(*store, ask); }));
}

void bench_small(Bench& bench) {
  const Workload workload = bench.workload({.runs = 10'000, .series = 200, .mix = Mix::kMixed});
  const std::size_t rows = bench.flags.count("points", 100);
  const std::size_t rounds = bench.flags.count("rounds", 200);
  auto store = loaded(bench, {.workload = workload, .rows = rows, .flush_rows = 10});
  restart(bench, store, false);
  report_sizes(bench, nullptr, static_cast<double>(rows * workload.series * workload.runs));
  report_times(bench, "list_first", timed(1, [&] { list_runs(*store); }));
  report_times(bench, "list", timed(20, [&] { list_runs(*store); }));
  Random random(11);
  std::vector<SeriesId> all;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto ids = series_of(*store, run_named(*store, run_name(random.below(workload.runs))));
    all.push_back(ids[random.below(ids.size())]);
  }
  std::size_t at = 0;
  ChartAsk ask;
  report_times(bench, "chart", timed(rounds, [&] {
                 ask.series = {all[at++]};
                 chart(*store, ask);
               }));
}

// Opens an existing store; --store names it.
void bench_open(Bench& bench) {
  const std::size_t rounds = bench.flags.count("rounds", 10);
  bench.flags.finish();
  const auto one = [&](bool cold) {
    if (cold && !bench.store.files().empty()) drop_page_cache(bench.store.files());
    const Stopwatch watch;
    const auto store = open_store(bench.store);
    return watch.ms();
  };
  std::vector<double> warm;
  std::vector<double> cold;
  for (std::size_t i = 0; i < rounds; ++i) cold.push_back(one(true));
  for (std::size_t i = 0; i < rounds; ++i) warm.push_back(one(false));
  report_times(bench, "open", warm);
  report_times(bench, "open_cold", cold);
}

// Charts of a run of 5,000 series while it grows at its own rate, after a past that was loaded.
void bench_live(Bench& bench) {
  const Workload workload = bench.workload({.runs = 1, .series = 5000});
  const std::size_t past = bench.flags.count("past-rows", 3000);
  const double live_s = bench.flags.number("seconds", 20);
  bench.flags.finish();
  auto store = open_store(bench.store);
  RunSource source(workload, 0);
  const auto take = [&](const std::vector<codec::Bytes>& frames) {
    append(*store, {frames.begin(), frames.end()});
  };
  take(source.describe());
  const auto flush_rows = static_cast<std::size_t>(workload.hz);
  for (std::size_t row = 0; row < past; row += flush_rows) take(source.flush(flush_rows));
  reset_peak_rss();
  std::vector<double> acks;
  std::vector<double> charts;
  std::atomic<bool> over{false};
  {
    const std::jthread writer([&] {
      BootTime due = sys::boot_now();
      for (double s = 0; s < live_s; ++s) {
        const auto frames = source.flush(flush_rows);
        sys::system_clock().sleep_until(due += std::chrono::seconds(1));
        const Stopwatch watch;
        take(frames);
        acks.push_back(watch.ms());
      }
      over = true;
    });
    const auto ids = series_of(*store, run_named(*store, run_name(0)));
    Random random(12);
    ChartAsk ask;
    while (!over) {
      sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(20));
      ask.series = {ids[random.below(ids.size())]};
      const Stopwatch watch;
      chart(*store, ask);
      charts.push_back(watch.ms());
    }
  }
  report_times(bench, "chart", charts);
  report_times(bench, "ack", acks);
  bench.report("peak_rss_mib", static_cast<double>(peak_rss()) / (1 << 20));
}

}  // namespace corral::bench
