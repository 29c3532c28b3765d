#include "run/schedule/book.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace corral::run::schedule {
namespace {

constexpr std::array<std::string_view, 3> kAsPlanned = {"finished", "limit", "stopped"};
// Somebody or a cluster wanted the place: the run is to be made again.
constexpr std::array<std::string_view, 3> kAgain = {"interrupted", "preempted", "cancelled"};

Standing parse_status(std::string_view status) {
  if (status.find("FINISHED") != std::string_view::npos) return Standing::kFinished;
  if (status.find("FAILED") != std::string_view::npos) return Standing::kFailed;
  return Standing::kOpen;
}

std::string named(const Attempt& attempt, const plan::Row& row) {
  return row.letter.empty() ? attempt.name : fmt::format("{} ({})", attempt.name, row.letter);
}

// A cell is one line.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::string failed_text(const Attempt& attempt, const plan::Row& row) {
  std::string text = fmt::format("FAILED {} {}", attempt.end->outcome, named(attempt, row));
  if (!attempt.end->reason.empty()) text += ": " + attempt.end->reason;
  return text;
}

}  // namespace

Standing standing_after(std::string_view outcome) {
  if (outcome.empty() || std::ranges::find(kAgain, outcome) != kAgain.end()) return Standing::kOpen;
  return std::ranges::find(kAsPlanned, outcome) != kAsPlanned.end() ? Standing::kFinished
                                                                    : Standing::kFailed;
}

End parse_end(const Json& report) {
  End end{.outcome = report.get_string("outcome", "unknown"),
          .reason = report.get_string("reason")};
  if (const Json* tail = report.find("tail"); tail != nullptr && tail->as_array() != nullptr) {
    for (const Json& line : *tail->as_array())
      if (line.as_string() != nullptr) end.tail.push_back(*line.as_string());
  }
  return end;
}

Attempt* Book::find_attempt(const std::string& run) {
  const auto key = row_of_run_.find(run);
  if (key == row_of_run_.end()) return nullptr;
  auto& attempts = rows_[key->second];
  const auto found = std::ranges::find(attempts, run, &Attempt::run);
  return found == attempts.end() ? nullptr : &*found;
}

void Book::begin(const Json& line) {
  const Json* runs = line.find("begin");
  if (runs->as_array() == nullptr) return;
  for (const Json& run : *runs->as_array()) {
    Attempt attempt{.key = run.get_string("key"),
                    .repetition = static_cast<int>(run.get_int("repetition", 1)),
                    .run = run.get_string("run"),
                    .name = run.get_string("name")};
    if (attempt.key.empty() || attempt.run.empty()) continue;
    row_of_run_[attempt.run] = attempt.key;
    rows_[attempt.key].push_back(std::move(attempt));
  }
}

void Book::note_end(const Json& line) {
  Attempt* attempt = find_attempt(line.get_string("end"));
  if (attempt == nullptr) return;
  attempt->end = parse_end(line);
}

void Book::apply(const Json& line) {
  if (line.find("begin") != nullptr) begin(line);
  if (line.find("end") != nullptr) note_end(line);
  if (const std::string run = line.get_string("started"); !run.empty()) {
    if (Attempt* attempt = find_attempt(run)) attempt->started = true;
  }
  if (const std::string key = line.get_string("forget"); !key.empty()) {
    rows_.erase(key);
    projections_.erase(key);
  }
  if (const std::string key = line.get_string("write"); !key.empty())
    projections_[key] = {.status = line.get_string("status"), .written = false, .recent = live_};
  if (const std::string key = line.get_string("written"); !key.empty())
    projections_[key].written = true;
}

const Attempt* Book::latest(const std::string& key, int repetition) const {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return nullptr;
  const auto& attempts = row->second;
  const auto found = std::find_if(attempts.rbegin(), attempts.rend(),
                                  [&](const Attempt& a) { return a.repetition == repetition; });
  return found == attempts.rend() ? nullptr : &*found;
}

const Attempt* Book::find(const std::string& run) const {
  return const_cast<Book*>(this)->find_attempt(run);
}

std::vector<const Attempt*> Book::open() const {
  std::vector<const Attempt*> found;
  for (const auto& [key, attempts] : rows_)
    for (const Attempt& attempt : attempts)
      if (!attempt.end) found.push_back(&attempt);
  return found;
}

bool Book::overruled(const plan::Row& row) const {
  if (!rows_.contains(row.key)) return false;
  const auto projection = projections_.find(row.key);
  if (projection == projections_.end()) return false;
  if (row.status == projection->second.status) return false;
  // The row may have an older state of the file, saved again by an editor that had it open.
  const bool before = (row.status.empty() && row.run.empty()) ||
                      (row.status == "RUNNING" && find(row.run) != nullptr);
  if (before && projection->second.recent) return false;
  // If the text was not yet in the file when the scheduler died, the cell has its former text.
  return projection->second.written;
}

Standing Book::standing(const plan::Row& row, int repetition) const {
  if (overruled(row) || !rows_.contains(row.key)) return parse_status(row.status);
  const Attempt* attempt = latest(row.key, repetition);
  if (attempt == nullptr || !attempt->end) return Standing::kOpen;
  return standing_after(attempt->end->outcome);
}

bool Book::runs_elsewhere(const plan::Row& row) const {
  return row.status.starts_with("RUNNING") && !row.run.empty() && !rows_.contains(row.key) &&
         find(row.run) == nullptr;
}

std::optional<Book::Cells> Book::cells(const plan::Row& row, int repetitions) const {
  const auto found = rows_.find(row.key);
  if (found == rows_.end()) return std::nullopt;
  const Attempt& newest = found->second.back();
  Cells cells{.status = {}, .run = newest.run};
  int finished = 0;
  const Attempt* failed = nullptr;
  const Attempt* interrupted = nullptr;
  const Attempt* running = nullptr;
  for (int repetition = 1; repetition <= repetitions; ++repetition) {
    const Attempt* attempt = latest(row.key, repetition);
    if (attempt == nullptr) continue;
    if (!attempt->end) {
      running = attempt;
    } else if (standing_after(attempt->end->outcome) == Standing::kFailed) {
      failed = attempt;
    } else if (standing_after(attempt->end->outcome) == Standing::kOpen) {
      interrupted = attempt;
    } else {
      ++finished;
    }
  }
  // "FINISHED" only when all repetitions are: radT, and a scheduler without the journal, skip such
  // a row.
  if (running != nullptr) {
    cells.status = "RUNNING";
  } else if (interrupted != nullptr) {
    cells.status = "INTERRUPTED " + named(*interrupted, row);
  } else if (failed != nullptr) {
    cells.status = failed_text(*failed, row);
  } else if (finished == repetitions) {
    cells.status = "FINISHED " + named(newest, row);
  } else {
    cells.status = fmt::format("RUNNING {} of {} done", finished, repetitions);
  }
  cells.status = one_line(std::move(cells.status));
  return cells;
}

}  // namespace corral::run::schedule
