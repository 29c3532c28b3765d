#include "run/schedule/dry_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace corral::run::schedule {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string_view words_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFinished:
      return "finished";
    case Verdict::kFailed:
      return "failed before; --rerun runs it again";
    case Verdict::kNotSelected:
      return "not selected";
    case Verdict::kWaits:
      return "later";
    case Verdict::kBlocked:
      return "not to be run";
    case Verdict::kRun:
      break;
  }
  return "to be run";
}

void print_run(const plan::Workload& workload, const plan::Row& row) {
  fmt::print("    {}", run_name_of(workload, row));
  if (!row.share.devices.empty() || !row.collocation.empty())
    fmt::print("  [{}{}{}]", row.letter, row.collocation.empty() ? "" : " ", row.collocation);
  fmt::print("\n      $ ");
  for (const auto& [name, value] : row.env) fmt::print("{}={} ", name, quoted(value));
  fmt::print("{}\n", shell_words(row.command));
}

bool print_workload(const plan::Workload& workload, Machine& machine) {
  for (const plan::Row& row : workload.rows) print_run(workload, row);
  const auto changes = machine.changes(workload);
  if (!changes) {
    fmt::print("    cannot be run: {}\n", changes.error().message);
    return false;
  }
  for (const std::string& change : *changes) fmt::print("    change: {}\n", change);
  return true;
}

}  // namespace

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += quoted(word);
  }
  return text;
}

int dry_run(const ScheduleOptions& options, const ScheduleParts& parts, const Book& book,
            const plan::Plan& plan) {
  const auto workloads = plan::workloads_of(plan.rows);
  const auto choices = judge(workloads, book, options.selection, {});
  bool fits = true;
  for (const Choice& choice : choices) {
    const plan::Workload& workload = workloads[choice.workload];
    fmt::print("{}: {}", workload_label(workload), words_of(choice.verdict));
    fmt::print("{}\n", choice.reason.empty() ? "" : ", " + choice.reason);
    if (choice.verdict == Verdict::kRun || choice.verdict == Verdict::kWaits)
      fits = print_workload(workload, parts.machine) && fits;
  }
  return fits ? 0 : 1;
}

}  // namespace corral::run::schedule
