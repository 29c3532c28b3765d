// Fuzzes plans: the first byte chooses CSV or a sweep, the rest is the file. Any plan that can be
// read can be marked, and then reads as before but for the marks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "core/text.h"
#include "plan/plan_file.h"

namespace {

namespace plan = corral::plan;

void require(bool holds) {
  if (!holds) std::abort();
}

plan::Known known() {
  plan::Known known;
  known.listener_problem = [](std::string_view word) { return word == "smi" ? "" : "none"; };
  known.environment_problem = [](std::string_view text) { return text.empty() ? "empty" : ""; };
  known.exists = [](const plan::fs::path& path) { return path.extension() == ".py"; };
  known.names_in = [](const plan::fs::path&) { return std::vector<std::string>{"train.py"}; };
  known.path = "/bin";
  known.devices = std::vector<plan::KnownDevice>{
      {.index = "0", .uuid = "GPU-0", .pci = "0000:65:00.0", .model = "A100", .profiles = {}}};
  known.cpus = 4;
  return known;
}

void check(const plan::Plan& read) {
  std::set<std::string> keys;
  for (const plan::Row& row : read.rows) require(keys.insert(row.key).second);
  std::size_t rows = 0;
  for (const plan::Workload& workload : plan::workloads_of(read.rows)) {
    require(!workload.rows.empty());
    if (workload.repetition == 1) rows += workload.rows.size();
  }
  require(rows == read.rows.size());
  for (const plan::Problem& problem : read.problems)
    require(corral::is_utf8(plan::to_line(problem, "f")) && problem.line >= 0);
}

using Parse = plan::Plan (*)(std::string_view, const plan::fs::path&, const plan::Known&);
using Write = corral::Result<std::string> (*)(std::string_view, const std::vector<plan::Mark>&,
                                              plan::Marked&);

void round(std::string_view text, Parse parse, Write write) {
  const plan::Plan before = parse(text, "/", known());
  check(before);
  // A sweep may have a hundred thousand runs, which is only slow.
  if (before.rows.size() > 1000) return;
  std::vector<plan::Mark> marks;
  for (std::size_t i = 0; i < before.rows.size(); i += 2)
    marks.push_back({before.rows[i].key, "FINISHED", "0123456789abcdef0123456789abcdef"});
  plan::Marked marked;
  const auto out = write(text, marks, marked);
  if (!out) return;
  require(marked.lost.empty());
  const plan::Plan after = parse(*out, "/", known());
  require(after.rows.size() == before.rows.size());
  for (std::size_t i = 0; i < after.rows.size(); ++i) {
    require(after.rows[i].key == before.rows[i].key);
    require(after.rows[i].command == before.rows[i].command);
    if (i % 2 == 0)
      require(plan::parse_row_state(after.rows[i].status) == plan::RowState::kFinished);
  }
  require(write(*out, marks, marked).value() == *out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) {
    round(text, plan::parse_csv_plan, plan::mark_csv);
  } else {
    round(text, plan::parse_sweep, plan::mark_sweep);
  }
  return 0;
}
