#include "plan/raw_row.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "core/text.h"
#include "plan/csv.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

// More than anyone reads; the rest is counted.
constexpr std::size_t kMostProblems = 500;
constexpr std::size_t kMostEqual = 3;  // that are said one by one

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace

std::optional<Field> find_field(std::string_view name) {
  for (std::size_t i = 0; i < kFields; ++i) {
    if (equal_ignoring_case(kColumnNames[i], name)) return static_cast<Field>(i);
  }
  return std::nullopt;
}

Sha256 content_hash(const RawRow& row, bool with_workload) {
  std::string content;
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    if (field == Field::kStatus || field == Field::kRun) continue;
    if (field == Field::kWorkload && !with_workload) continue;
    const std::string_view value = row[field];
    if (value.empty()) continue;
    content += kColumnNames[i];
    content += '\0';
    content += value;
    content += '\0';
  }
  return sha256(content);
}

void ProblemList::add(const RawRow& row, Field field, const Refusal& refusal, Severity severity) {
  const auto i = static_cast<std::size_t>(field);
  const int line = row.lines[i] > 0 ? row.lines[i] : row.line;
  if (row.line == 0 &&
      !said_.insert(fmt::format("{} {} {}", i, row.offsets[i], refusal.reason)).second)
    return;
  // The place costs a walk over the line: not computed for problems that are not shown.
  const bool placed = row.offsets[i] != RawRow::kNowhere && problems_.size() < kMostProblems;
  problems_.push_back({severity, line, placed ? column_at(text_, row.offsets[i]) : 0,
                       std::string(column_name(field)), std::string(row[field]), refusal.reason,
                       refusal.advice});
}

void ProblemList::add_once(const RawRow& row, Field field, const Refusal& refusal,
                           Severity severity) {
  const auto key = fmt::format("{} {} {}", column_name(field), row[field], refusal.reason);
  const auto [entry, first] = repeated_.try_emplace(key, Repeated{problems_.size(), 0});
  ++entry->second.rows;
  if (first) add(row, field, refusal, severity);
}

// Beyond a few of them: the first stands for all.
void ProblemList::group_equal() {
  std::map<std::tuple<Severity, std::string, std::string, std::string>, std::size_t> counts;
  const auto key_of = [](const Problem& p) {
    return std::tuple(p.severity, p.field, p.value, p.reason);
  };
  for (const Problem& problem : problems_) ++counts[key_of(problem)];
  std::set<decltype(counts)::key_type> said;
  std::erase_if(problems_, [&](Problem& problem) {
    const auto key = key_of(problem);
    const std::size_t count = counts[key];
    if (problem.line == 0 || count <= kMostEqual) return false;
    if (!said.insert(key).second) return true;
    problem.reason += fmt::format(" … and {} more like it", count - 1);
    return false;
  });
}

std::vector<Problem> ProblemList::take_sorted() {
  for (const auto& [key, repeated] : repeated_) {
    if (repeated.rows > 1)
      problems_[repeated.problem].reason += fmt::format(" ({} rows)", repeated.rows);
  }
  std::ranges::stable_sort(problems_, [](const Problem& a, const Problem& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  group_equal();
  if (problems_.size() > kMostProblems) {
    // An error must not hide behind warnings.
    std::stable_partition(problems_.begin(), problems_.end(),
                          [](const Problem& p) { return p.severity == Severity::kError; });
    const std::size_t more = problems_.size() - kMostProblems;
    problems_.resize(kMostProblems);
    problems_.push_back({Severity::kWarning, 0, 0, "", "", fmt::format("{} more problems", more),
                         "fix these first"});
  }
  return std::move(problems_);
}

Problem line_problem(int line, std::string reason, std::string advice, Severity severity) {
  return {severity, line, 0, "", "", std::move(reason), std::move(advice)};
}

bool check_text(ProblemList& problems) {
  const std::string_view text = problems.text();
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    problems.add(line_problem(1, "the file is UTF-16", "save it as UTF-8"));
    return false;
  }
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    problems.add(line_problem(line_at(text, nul), "contains a NUL byte: this is not a text"));
    return false;
  }
  if (text.find('\n') == std::string_view::npos &&
      trim(text).find('\r') != std::string_view::npos) {
    problems.add(
        line_problem(1, "lines end in CR alone, as on old Macs", "save the file with LF or CRLF"));
    return false;
  }
  const std::size_t good = utf8_prefix(text);
  if (good == text.size()) return true;
  problems.add({Severity::kError, line_at(text, good), column_at(text, good), "", "",
                "a byte that is not UTF-8", "save the file as UTF-8"});
  return false;
}

}  // namespace corral::plan
