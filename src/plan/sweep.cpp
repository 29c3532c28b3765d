// A YAML sweep as rows of cells, for reading a plan and for marking one: both see the same rows.
//
//   name: lr                    method: grid | random         status:
//   experiment: 1               parameters:                     0: "FINISHED <run> (--lr 0.1)"
//   devices: 0                    lr: {values: [0.1, 0.01]}
//   file: train.py              parent: <run>
//
// One workload for each combination, the last key varying fastest, numbered from 000. Beside radT's
// keys those of Corral's columns are taken, and `seed` and `count` for method random.
#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "core/text.h"
#include "plan/assemble.h"
#include "plan/csv.h"
#include "plan/params.h"
#include "plan/plan_file.h"
#include "plan/raw_row.h"
#include "plan/shuffle.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

struct SweepEntry {
  std::string status;  // "FINISHED"
  std::string run;
  std::string params;  // "--lr 0.1"
};

struct Sweep {
  std::vector<RawRow> raws;  // the views are of `texts`
  std::string parent;        // run that all are to be below; empty: none
  std::string name;
  std::map<std::int64_t, SweepEntry> status;  // as the file has it
  std::vector<std::int64_t> numbers;          // number of the workload of each row
  std::vector<std::string> params;            // the params of the row's combination
  std::vector<std::unique_ptr<std::string>> texts;
};

constexpr std::size_t kMostBytes = 4u << 20;
constexpr std::size_t kMostRuns = 100'000;

struct Parameter {
  std::string key;
  std::vector<std::string> values;
};

// As Python prints it into a command line, which is how radT makes one: True, False, None.
// Numbers stay as they are written.
std::string python_text(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // in quotes
  const std::string word = lower_ascii(text);
  for (const char* yes : {"true", "yes", "on"})
    if (word == yes) return "True";
  for (const char* no : {"false", "no", "off"})
    if (word == no) return "False";
  return word == "null" || word == "~" ? "None" : text;
}

// "--lr 0.10" and "--lr 0.1" are the same combination: radT writes numbers as Python does.
std::string comparable(std::string_view params) {
  std::string text;
  for (const std::string& word : shell_words(params).value_or(std::vector<std::string>{})) {
    const auto number = parse_double(word);
    text += number ? fmt::format("{} ", *number) : word + " ";
  }
  return text;
}

// A value as a shell reads it: a single word.
std::string one_word(const std::string& value) {
  const auto words = shell_words(value);
  if (words && words->size() == 1 && words->front() == value) return value;
  std::string quoted = "'";
  for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Hears a document and forgets it.
class Silence : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

// Not YAML::LoadAll: it never ends where a document cannot begin, such as at a comma.
bool has_two_documents(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Silence silence;
  return parser.HandleNextDocument(silence) && parser.HandleNextDocument(silence);
}

class SweepReader {
 public:
  explicit SweepReader(ProblemList& problems) : text_(problems.text()), problems_(problems) {
    std::size_t at = 0;
    while (at != std::string_view::npos) {
      lines_.push_back(at);
      at = text_.find('\n', at);
      if (at != std::string_view::npos) ++at;
    }
  }

  Sweep read() {
    const YAML::Node root = load();
    if (!root.IsDefined()) return std::move(sweep_);
    if (!root.IsMap()) {
      report(root, "", "a sweep is a map of keys: name, experiment, file, parameters …");
      return std::move(sweep_);
    }
    for (const auto& entry : root) read_key(entry.first, entry.second);
    check_required();
    if (valid_) expand();
    return std::move(sweep_);
  }

 private:
  YAML::Node load() {
    if (text_.size() > kMostBytes) {
      problems_.add(line_problem(0, "a sweep of more than 4 MiB"));
      return YAML::Node(YAML::NodeType::Undefined);
    }
    if (!has_two_documents(text_)) return YAML::Load(std::string(text_));
    problems_.add(line_problem(0, "one sweep is one YAML document"));
    return YAML::Node(YAML::NodeType::Undefined);
  }

  [[nodiscard]] std::size_t offset_at(const YAML::Mark& mark) const {
    if (mark.line < 0 || static_cast<std::size_t>(mark.line) >= lines_.size())
      return RawRow::kNowhere;
    const std::size_t line = lines_[static_cast<std::size_t>(mark.line)];
    return std::min(line + static_cast<std::size_t>(std::max(mark.column, 0)), text_.size());
  }
  void report(const YAML::Node& node, std::string field, std::string reason,
              std::string advice = "", Severity severity = Severity::kError) {
    const YAML::Mark mark = node.Mark();
    const std::size_t offset = offset_at(mark);
    const bool known = offset != RawRow::kNowhere;
    problems_.add({severity, known ? mark.line + 1 : 0, known ? column_at(text_, offset) : 0,
                   std::move(field), node.IsScalar() ? node.Scalar().substr(0, 80) : "",
                   std::move(reason), std::move(advice)});
    if (severity == Severity::kError) valid_ = false;
  }

  void read_key(const YAML::Node& key_node, const YAML::Node& value) {
    if (!key_node.IsScalar()) return report(key_node, "", "this key is not a word");
    const std::string key = lower_ascii(key_node.Scalar());
    if (!seen_.insert(key).second) return report(key_node, key, "is given twice");
    if (key == "parameters") return read_parameters(key_node, value);
    if (key == "status") return read_status(value);
    if (!value.IsScalar() && !value.IsNull()) return report(value, key, "must be one value");
    const std::string text = value.IsNull() ? "" : value.Scalar();
    if (key == "method") return read_method(value, text);
    if (key == "parent") return void(sweep_.parent = text);
    if (key == "seed" || key == "count") return read_number(value, key, text);
    const auto field = find_field(key);
    if (!field || *field == Field::kStatus || *field == Field::kRun || *field == Field::kWorkload)
      return report_unknown(key_node, key);
    if (*field == Field::kName) sweep_.name = text;
    common_.set(*field, keep(text), offset_at(value.Mark()), value.Mark().line + 1);
  }
  void report_unknown(const YAML::Node& node, const std::string& key) {
    std::vector<std::string> names = {"parameters", "method", "parent", "seed", "count"};
    for (const std::string_view column : kColumnNames) names.push_back(lower_ascii(column));
    const std::vector<std::string_view> views(names.begin(), names.end());
    report(node, "key", "not a key of a sweep; it is kept and ignored", suggest(key, views, ""),
           Severity::kWarning);
  }
  void read_method(const YAML::Node& node, const std::string& text) {
    constexpr std::array<std::string_view, 2> kMethods = {"grid", "random"};
    random_ = text == "random";
    if (!random_ && text != "grid") report(node, "method", "no method", suggest(text, kMethods));
  }
  void read_number(const YAML::Node& node, const std::string& key, const std::string& text) {
    const auto number = parse_int(text);
    if (!number || *number < (key == "count" ? 1 : 0)) return report(node, key, "is not a number");
    (key == "count" ? count_ : seed_) = static_cast<std::uint64_t>(*number);
  }

  void read_parameters(const YAML::Node& key_node, const YAML::Node& map) {
    if (!map.IsMap() || map.size() == 0)
      return report(key_node, "parameters", "must map each parameter to its values",
                    "such as lr: {values: [0.1, 0.01]}");
    for (const auto& entry : map) {
      if (!entry.first.IsScalar())
        return report(entry.first, "parameters", "this key is not a word");
      read_parameter(entry.first, entry.second);
    }
  }
  void read_parameter(const YAML::Node& key_node, const YAML::Node& body) {
    const std::string& key = key_node.Scalar();
    const bool known = std::ranges::find(parameters_, key, &Parameter::key) != parameters_.end();
    if (known) return report(key_node, "parameters", "is given twice");
    const YAML::Node values = body.IsMap() ? body["values"] : YAML::Node(YAML::NodeType::Undefined);
    if (!values.IsDefined() || !values.IsSequence() || values.size() == 0)
      return report(key_node, "parameters", "has no list of values",
                    "such as {values: [0.1, 0.01]}");
    Parameter parameter{key, {}};
    for (const YAML::Node& value : values) {
      if (!value.IsScalar() && !value.IsNull())
        return report(value, "parameters", fmt::format("a value of {} is not a single value", key));
      parameter.values.push_back(value.IsNull() ? "None" : python_text(value));
    }
    parameters_.push_back(std::move(parameter));
  }

  void read_status(const YAML::Node& map) {
    if (map.IsNull()) return;
    if (!map.IsMap())
      return report(map, "status", "must map workloads to their status", "", Severity::kWarning);
    for (const auto& entry : map) {
      const auto number = entry.first.IsScalar() ? parse_int(entry.first.Scalar()) : std::nullopt;
      if (!number || *number < 0 || *number > std::int64_t{1'000'000'000} ||
          !entry.second.IsScalar()) {
        report(entry.first, "status", "is not a workload's number with its status", "",
               Severity::kWarning);
        continue;
      }
      sweep_.status[*number] = parse_entry(entry.second.Scalar());
    }
  }
  // "FINISHED <run> (--lr 0.1)"
  static SweepEntry parse_entry(std::string_view text) {
    SweepEntry entry;
    const std::size_t open = text.find('(');
    const std::vector<std::string_view> words = split(trim(text.substr(0, open)), ' ');
    entry.status = words[0];
    if (words.size() > 1) entry.run = words[1] == "-" ? "" : words[1];
    if (open == std::string_view::npos) return entry;
    std::string_view rest = trim(text.substr(open + 1));
    if (rest.ends_with(')')) rest.remove_suffix(1);
    entry.params = rest;
    return entry;
  }

  void check_required() {
    const auto require = [&](bool there, const char* what) {
      if (there) return;
      problems_.add(line_problem(0, fmt::format("the sweep has no key {}", what)));
      valid_ = false;
    };
    require(seen_.contains("experiment"), "experiment");
    require(seen_.contains("file") || seen_.contains("model"), "file");
    require(seen_.contains("parameters"), "parameters");
  }

  // Every combination's params, in the order of running.
  std::vector<std::string> combinations() {
    std::size_t total = 1;
    for (const Parameter& parameter : parameters_) {
      total *= parameter.values.size();
      if (total > kMostRuns) {
        problems_.add(Problem{.field = "parameters",
                              .reason = fmt::format("more than {} combinations", kMostRuns)});
        return {};
      }
    }
    std::vector<std::size_t> order(total);
    for (std::size_t i = 0; i < total; ++i) order[i] = i;
    if (random_) Shuffler(seed_.value_or(0)).shuffle(order);
    if (count_) order.resize(std::min<std::size_t>(order.size(), *count_));
    std::vector<std::string> all;
    all.reserve(order.size());
    for (const std::size_t i : order) all.push_back(combination(i));
    return all;
  }
  [[nodiscard]] std::string combination(std::size_t number) const {
    std::vector<std::string> words(parameters_.size());
    for (std::size_t p = parameters_.size(); p-- > 0;) {
      const auto& values = parameters_[p].values;
      words[p] =
          fmt::format("--{} {}", parameters_[p].key, one_word(values[number % values.size()]));
      number /= values.size();
    }
    return join(words, " ");
  }

  // A combination that the file has a status of keeps its number; the others have their own place,
  // or one behind all where that is taken.
  void expand() {
    std::multimap<std::string, std::int64_t> known;
    std::int64_t behind = 0;
    for (const auto& [number, entry] : sweep_.status) {
      known.emplace(comparable(entry.params), number);
      behind = std::max(behind, number + 1);
    }
    const auto all = combinations();
    behind = std::max(behind, static_cast<std::int64_t>(all.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto same = known.find(comparable(all[i]));
      auto number = static_cast<std::int64_t>(i);
      if (same != known.end()) {
        number = same->second;
        known.erase(same);
      } else if (sweep_.status.contains(number)) {
        number = behind++;
      }
      add(all[i], number);
    }
  }
  void add(const std::string& params, std::int64_t number) {
    RawRow raw = common_;
    const std::string_view before = common_[Field::kParams];
    const std::string all = before.empty() ? params : fmt::format("{} {}", before, params);
    raw.set(Field::kParams, keep(all), RawRow::kNowhere);
    raw.set(Field::kWorkload, keep(fmt::format("{:03}", number)), RawRow::kNowhere);
    const auto entry = sweep_.status.find(number);
    if (entry != sweep_.status.end()) {
      raw.set(Field::kStatus, entry->second.status, RawRow::kNowhere);
      raw.set(Field::kRun, entry->second.run, RawRow::kNowhere);
    }
    sweep_.raws.push_back(raw);
    sweep_.numbers.push_back(number);
    sweep_.params.push_back(params);
  }
  std::string_view keep(std::string text) {
    sweep_.texts.push_back(std::make_unique<std::string>(std::move(text)));
    return *sweep_.texts.back();
  }

  std::string_view text_;
  ProblemList& problems_;
  std::vector<std::size_t> lines_;  // begin of each line
  Sweep sweep_;
  RawRow common_;
  std::set<std::string> seen_;
  std::vector<Parameter> parameters_;
  bool random_ = false;
  bool valid_ = true;
  std::optional<std::uint64_t> seed_, count_;
};

Sweep read_sweep(ProblemList& problems) {
  // yaml-cpp throws, and where it does is its own affair: the seam is here.
  try {
    return SweepReader(problems).read();
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line < 0 ? 0 : error.mark.line + 1;
    problems.add({Severity::kError, line, line > 0 ? error.mark.column + 1 : 0, "", "",
                  "not YAML: " + error.msg, ""});
    return {};
  }
}

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
    for (std::size_t i = from_line; i < to_line; ++i) out += line_text(i);
    return out;
  }
  [[nodiscard]] std::string_view line_text(std::size_t line) const {
    return text_.substr(lines_[line].begin, lines_[line].end - lines_[line].begin);
  }
  // Blank lines and comments at the end of a region belong to what follows.
  [[nodiscard]] std::size_t without_tail(std::size_t first, std::size_t end) const {
    while (end > first + 1) {
      const std::string_view line = trim(line_text(end - 1));
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
    struct EntryLine {
      std::size_t line;
      std::optional<std::int64_t> number;
    };
    std::vector<EntryLine> entries;
    std::size_t indent = indent_ + 2;
    for (const auto& entry : map) {
      const YAML::Mark mark = entry.first.Mark();
      entries.push_back(
          {static_cast<std::size_t>(std::max(mark.line, 0)), parse_int(entry.first.Scalar())});
      indent = static_cast<std::size_t>(std::max(mark.column, 0));
    }
    std::ranges::sort(entries, {}, &EntryLine::line);
    Entries fresh = entries_;
    std::string out = text_between(0, entries.front().line);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t next = i + 1 < entries.size() ? entries[i + 1].line : end;
      const std::size_t last = without_tail(entries[i].line, next);
      const auto entry = entries[i].number ? fresh.find(*entries[i].number) : fresh.end();
      if (entry == fresh.end()) {
        out += ended(text_between(entries[i].line, last));
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

Change plan_change(const Sweep& sweep, const std::vector<Mark>& marks, Marked& marked) {
  Change change;
  for (const auto& [number, entry] : sweep.status) change.all[number] = status_text(entry);
  for (const auto& [row, mark] : marks_by_row(sweep.raws, false, marks, marked)) {
    const std::int64_t number = sweep.numbers[row];
    const std::string text = status_text(*mark, sweep.params[row]);
    const auto old = change.all.find(number);
    if (old != change.all.end() && old->second == text) continue;
    change.changed[number] = change.all[number] = text;
  }
  return change;
}

// YAML has more forms than are edited here: what does not read back as meant is not written.
bool reads_back(const Sweep& before, const std::string& text, const Entries& all) {
  ProblemList problems(text);
  const Sweep after = read_sweep(problems);
  Entries read;
  for (const auto& [number, entry] : after.status) read[number] = status_text(entry);
  return read == all && row_keys(after.raws, false) == row_keys(before.raws, false) &&
         after.numbers == before.numbers && after.parent == before.parent;
}
}  // namespace

Plan parse_sweep(std::string_view text, const fs::path& directory, const Known& known) {
  ProblemList problems(text);
  if (!check_text(problems)) return {{}, problems.take_sorted()};
  const Sweep sweep = read_sweep(problems);
  Plan plan =
      assemble_plan(sweep.raws, {.directory = directory, .known = known, .sweep = true}, problems);
  for (Row& row : plan.rows) {
    if (!sweep.name.empty()) row.tags.emplace_back("corral.sweep", sweep.name);
    if (!sweep.parent.empty()) row.tags.emplace_back("mlflow.parentRunId", sweep.parent);
  }
  return plan;
}

Result<std::string> mark_sweep(std::string_view text, const std::vector<Mark>& marks,
                               Marked& marked) {
  ProblemList problems(text);
  if (!check_text(problems)) return fail(Code::kInvalidArgument, problems.all().front().reason);
  const Sweep sweep = read_sweep(problems);
  for (const Problem& problem : problems.all()) {
    if (problem.severity == Severity::kError)
      return fail(Code::kInvalidArgument, to_line(problem, "the sweep"));
  }
  const Change change = plan_change(sweep, marks, marked);
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
