// Plans: how long a file of 10,000 rows takes to be read and to be written back, in milliseconds.
//
//   corral_bench_plan [--rows N] [--rounds N]
//
// Writing back is what a scheduler does after a workload: read the file, find the rows, replace it,
// synced.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "flags.h"
#include "measure.h"
#include "plan/plan_file.h"
#include "sys/file.h"

namespace corral::bench {
namespace {

namespace fs = std::filesystem;

std::string plan_text(std::size_t rows) {
  std::string text =
      "Experiment,Workload,Name,Status,Run,Devices,Collocation,Listeners,File,Params,Tags\n";
  for (std::size_t i = 0; i < rows; ++i)
    text += fmt::format(
        "{},{},,,,{},{},smi+top+dcgmi,train.py,--batch-size {} --epochs 5 --seed {},model=resnet\n",
        33 + i % 5, i / 3, i % 8, i % 2 == 0 ? "mps" : "3g.20gb", 32 << i % 3, i);
  return text;
}

struct Times {
  std::vector<double> parse, mark;
};

Times measure(const fs::path& file, std::size_t rounds) {
  Times times;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Stopwatch parsing;
    const auto plan = plan::read_plan(file, {});
    times.parse.push_back(parsing.ms());
    CORRAL_ASSERT(plan && plan->usable());
    // A workload of three in the middle of the file.
    std::vector<plan::Mark> marks;
    for (std::size_t i = plan->rows.size() / 2; marks.size() < 3; ++i)
      marks.push_back({plan->rows[i].key, fmt::format("FINISHED round {} ({})", round, i),
                       "0123456789abcdef0123456789abcdef"});
    // Runs are one row's.
    for (std::size_t m = 0; m < marks.size(); ++m) marks[m].run.back() = static_cast<char>('0' + m);
    const Stopwatch marking;
    const auto marked = plan::mark_rows(file, marks);
    times.mark.push_back(marking.ms());
    CORRAL_ASSERT(marked && marked->lost.empty());
  }
  return times;
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) {
  using namespace corral::bench;
  Flags flags(argc, argv, 1);
  const std::size_t rows = flags.count("rows", 10'000);
  const std::size_t rounds = flags.count("rounds", 20);
  flags.finish();
  const fs::path file = fs::current_path() / fmt::format("bench-plan-{}.csv", ::getpid());
  CORRAL_ASSERT(corral::sys::replace_file(file, plan_text(rows)));
  const Times times = measure(file, rounds);
  fs::remove(file);
  fmt::print(
      "{{\"rows\": {}, \"parse_ms\": {:.2f}, \"parse_ms_p90\": {:.2f}, \"mark_ms\": {:.2f}, "
      "\"mark_ms_p90\": {:.2f}}}\n",
      rows, percentile(times.parse, 0.5), percentile(times.parse, 0.9), percentile(times.mark, 0.5),
      percentile(times.mark, 0.9));
}
