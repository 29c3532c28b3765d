#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/text.h"
#include "plan/csv_plan.h"
#include "plan/finish.h"
#include "plan/plan_file.h"
#include "plan/sweep.h"

namespace corral::plan {
namespace {

using Entries = std::map<std::int64_t, std::string>;  // number of a workload -> its whole status

struct Line {
  std::size_t begin = 0, end = 0;  // with the line end
};

// Edits the lines of the key `status`, and of its map those of the entries that change.
class StatusEditor {
 public:
  StatusEditor(std::string_view text, const Entries& entries) : text_(text), entries_(entries) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t lf = text.find('\n', at);
      const std::size_t end = lf == std::string_view::npos ? text.size() : lf + 1;
      lines_.push_back({at, end});
      at = end;
    }
    eol_ = text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
  }

  Result<std::string> edit() {
    const YAML::Node root = YAML::Load(std::string(text_));
    if (root.Style() == YAML::EmitterStyle::Flow)
      return fail(Code::kUnsupported, "a sweep written in braces cannot be marked");
    std::optional<std::size_t> line;
    std::size_t end = lines_.size();
    YAML::Node value;
    for (const auto& key : root) {
      const auto at = static_cast<std::size_t>(std::max(key.first.Mark().line, 0));
      indent_ = static_cast<std::size_t>(std::max(key.first.Mark().column, 0));
      if (line && at > *line) end = std::min(end, at);
      if (key.first.Scalar() != "status") continue;
      line = at;
      value.reset(key.second);
    }
    if (!line) return append();
    end = without_tail(*line, end);
    const bool block =
        value.IsMap() && value.Style() != YAML::EmitterStyle::Flow && value.size() > 0;
    return block ? edit_map(value, end) : rewrite(*line, end);
  }

 private:
  [[nodiscard]] std::string text_between(std::size_t from_line, std::size_t to_line) const {
    std::string out;
    for (std::size_t i = from_line; i < to_line; ++i) out += text_of(i);
    return out;
  }
  [[nodiscard]] std::string_view text_of(std::size_t line) const {
    return text_.substr(lines_[line].begin, lines_[line].end - lines_[line].begin);
  }
  // Blank lines and comments at the end of a region belong to what follows.
  [[nodiscard]] std::size_t without_tail(std::size_t first, std::size_t end) const {
    while (end > first + 1) {
      const std::string_view line = trim(text_of(end - 1));
      if (!line.empty() && line.front() != '#') break;
      --end;
    }
    return end;
  }

  [[nodiscard]] std::string entry_text(std::size_t indent, std::int64_t number,
                                       const std::string& status) const {
    std::string quoted;
    append_json_string(quoted, status);
    return fmt::format("{:{}}{}: {}{}", "", indent, number, quoted, eol_);
  }
  [[nodiscard]] std::string ended(std::string text) const {
    if (!text.empty() && text.back() != '\n') text += eol_;
    return text;
  }
  [[nodiscard]] std::string whole_map() const {
    std::string out = fmt::format("{:{}}status:{}", "", indent_, eol_);
    for (const auto& [number, status] : entries_) out += entry_text(indent_ + 2, number, status);
    return out;
  }

  [[nodiscard]] std::string append() const { return ended(std::string(text_)) + whole_map(); }
  // There is nothing in it, or it is in braces: then all that is known is in `entries_`.
  [[nodiscard]] std::string rewrite(std::size_t line, std::size_t end) const {
    return text_between(0, line) + whole_map() + text_between(end, lines_.size());
  }

  [[nodiscard]] std::string edit_map(const YAML::Node& map, std::size_t end) const {
    struct Place {
      std::size_t line;
      std::optional<std::int64_t> number;
    };
    std::vector<Place> places;
    std::size_t indent = indent_ + 2;
    for (const auto& entry : map) {
      const YAML::Mark mark = entry.first.Mark();
      places.push_back(
          {static_cast<std::size_t>(std::max(mark.line, 0)), parse_int(entry.first.Scalar())});
      indent = static_cast<std::size_t>(std::max(mark.column, 0));
    }
    std::ranges::sort(places, {}, &Place::line);
    Entries fresh = entries_;
    std::string out = text_between(0, places.front().line);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t next = i + 1 < places.size() ? places[i + 1].line : end;
      const std::size_t last = without_tail(places[i].line, next);
      const auto entry = places[i].number ? fresh.find(*places[i].number) : fresh.end();
      if (entry == fresh.end()) {
        out += ended(text_between(places[i].line, last));
      } else {
        out += entry_text(indent, entry->first, entry->second);
        fresh.erase(entry);
      }
      out += text_between(last, next);
    }
    for (const auto& [number, status] : fresh) out += entry_text(indent, number, status);
    return out + text_between(end, lines_.size());
  }

  std::string_view text_;
  const Entries& entries_;
  std::vector<Line> lines_;
  std::string eol_;
  std::size_t indent_ = 0;  // indentation of the sweep's keys
};

// As radT writes and reads it: three parts, the last in brackets.
std::string status_text(const Mark& mark, const std::string& params) {
  const std::string_view word = split(trim(mark.status), ' ')[0];
  return fmt::format("{} {} ({})", word.empty() ? "-" : word, mark.run.empty() ? "-" : mark.run,
                     params);
}
std::string status_text(const SweepEntry& entry) {
  return status_text(Mark{.key = "", .status = entry.status, .run = entry.run}, entry.params);
}

struct Change {
  Entries changed;  // the new entries
  Entries all;      // including the entries of the file
};

Change change_of(const Sweep& sweep, const std::vector<Mark>& marks, Marked& marked) {
  const auto keys = keys_of(sweep.raws, false);
  std::unordered_map<std::string, std::size_t> row_of;
  for (std::size_t i = 0; i < keys.size(); ++i) row_of.emplace(keys[i], i);
  Change change;
  for (const auto& [number, entry] : sweep.status) change.all[number] = status_text(entry);
  for (const Mark& mark : marks) {
    const auto row = row_of.find(mark.key);
    if (row == row_of.end()) {
      marked.lost.push_back(mark.key);
      continue;
    }
    const std::int64_t number = sweep.numbers[row->second];
    const std::string text = status_text(mark, sweep.params[row->second]);
    const auto old = change.all.find(number);
    if (old != change.all.end() && old->second == text) continue;
    change.changed[number] = change.all[number] = text;
  }
  return change;
}

// YAML has more forms than are edited here: what does not read back as meant is not written.
bool reads_back(const Sweep& before, const std::string& text, const Entries& all) {
  ProblemList problems(text);
  const Sweep after = read_sweep(text, problems);
  Entries read;
  for (const auto& [number, entry] : after.status) read[number] = status_text(entry);
  return read == all && keys_of(after.raws, false) == keys_of(before.raws, false) &&
         after.numbers == before.numbers && after.parent == before.parent;
}

}  // namespace

Result<std::string> mark_sweep(std::string_view text, const std::vector<Mark>& marks,
                               Marked& marked) {
  ProblemList problems(text);
  if (!check_text(text, problems))
    return fail(Code::kInvalidArgument, problems.all().front().reason);
  const Sweep sweep = read_sweep(text, problems);
  for (const Problem& problem : problems.all()) {
    if (problem.severity == Severity::kError)
      return fail(Code::kInvalidArgument, to_line(problem, "the sweep"));
  }
  const Change change = change_of(sweep, marks, marked);
  if (change.changed.empty()) return std::string(text);
  marked.added_columns = sweep.status.empty();
  try {
    // A map in braces is rewritten, so it needs all of them.
    for (const Entries* entries : {&change.changed, &change.all}) {
      std::string edited = TRY(StatusEditor(text, *entries).edit());
      if (reads_back(sweep, edited, change.all)) return edited;
    }
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalidArgument, "not YAML: " + error.msg);
  }
  return fail(Code::kUnsupported,
              "its map `status` has a form that cannot be edited; write one entry per line");
}

}  // namespace corral::plan
