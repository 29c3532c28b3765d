#include "plan/row.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "core/limits.h"
#include "core/sha256.h"
#include "core/text.h"
#include "plan/params.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

// More than anyone reads; the rest is counted.
constexpr std::size_t kMostProblems = 500;
constexpr std::size_t kMostEqual = 3;  // that are said one by one
// Variables that a container takes from its image, even if they are set outside.
constexpr auto kOfImage = std::to_array<std::string_view>(
    {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "PYTHONHOME"});

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void add_param(Pairs& params, std::string_view key, std::string_view value) {
  const bool there = std::ranges::find(params, key, &Pairs::value_type::first) != params.end();
  if (!there && !value.empty()) params.emplace_back(key, value);
}

}  // namespace

std::string content_hash(const RawRow& row, bool with_workload) {
  std::string content;
  for (const Column& column : kColumns) {
    if (column.field == Field::kStatus || column.field == Field::kRun) continue;
    if (column.field == Field::kWorkload && !with_workload) continue;
    const std::string_view value = row[column.field];
    if (value.empty()) continue;
    content += column.name;
    content += '\0';
    content += value;
    content += '\0';
  }
  const Sha256 hash = sha256(content);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

void ProblemList::add(const RawRow& row, Field field, const Refusal& refusal, Severity severity) {
  const auto i = static_cast<std::size_t>(field);
  const int line = row.lines[i] > 0 ? row.lines[i] : row.line;
  if (row.line == 0 &&
      !said_.insert(fmt::format("{} {} {}", i, row.offsets[i], refusal.reason)).second)
    return;
  // The place costs a walk over the line: not computed for problems that are not shown.
  const bool placed = row.offsets[i] != RawRow::kNowhere && problems_.size() < kMostProblems;
  problems_.push_back({severity, line, placed ? column_of(text_, row.offsets[i]) : 0,
                       std::string(name_of(field)), std::string(row[field]), refusal.reason,
                       refusal.advice});
}

void ProblemList::add_once(const RawRow& row, Field field, const Refusal& refusal,
                           Severity severity) {
  const auto key = fmt::format("{} {} {}", name_of(field), row[field], refusal.reason);
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

std::vector<Problem> ProblemList::take() {
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

Row RowReader::read(const RawRow& raw) {
  Row row;
  row.line = raw.line;
  read_names(raw, row);
  read_environment(raw, row);
  read_command(raw, row);
  read_listeners(raw, row);
  read_share(raw, row);
  read_course(raw, row);
  return row;
}

void RowReader::read_names(const RawRow& raw, Row& row) {
  row.experiment = raw[Field::kExperiment];
  row.workload = raw[Field::kWorkload];
  row.name = raw[Field::kName];
  row.status = raw[Field::kStatus];
  row.run = raw[Field::kRun];
  for (const auto& [field, missing] : {std::pair{Field::kExperiment, missing_.experiment},
                                       {Field::kWorkload, missing_.workload}}) {
    if (raw[field].empty() && !missing)
      problems_.add(raw, field, {"is empty", "rows of one experiment and workload start together"});
  }
  for (const Field field : {Field::kExperiment, Field::kWorkload, Field::kName}) {
    if (raw[field].size() > limits::kNameBytes)
      problems_.add(raw, field, {fmt::format("longer than {} bytes", limits::kNameBytes)});
    if (has_control(raw[field])) problems_.add(raw, field, {"contains a control character"});
  }
}

void RowReader::read_environment(const RawRow& raw, Row& row) {
  const std::string_view text = raw[Field::kEnvironment];
  row.environment = text;
  if (text.empty() || !known_.environment_problem) return;
  auto known = environments_.find(text);
  if (known == environments_.end())
    known = environments_.emplace(text, known_.environment_problem(text)).first;
  if (!known->second.empty()) {
    problems_.add_once(raw, Field::kEnvironment, {known->second});
  } else if (known_.environment_lack) {
    check_environment(raw);
  }
}

void RowReader::check_environment(const RawRow& raw) {
  const std::string_view text = raw[Field::kEnvironment];
  auto lack = lacks_.find(text);
  if (lack == lacks_.end())
    lack = lacks_.emplace(text, known_.environment_lack(text, directory_)).first;
  if (lack->second)
    problems_.add_once(raw, Field::kEnvironment, {lack->second->reason},
                       lack->second->certain ? Severity::kError : Severity::kWarning);
}

void RowReader::read_command(const RawRow& raw, Row& row) {
  const bool model = !raw[Field::kModel].empty();
  const bool has_file = raw.offsets[static_cast<std::size_t>(Field::kFile)] != RawRow::kNowhere;
  const Field field = model || !has_file ? Field::kModel : Field::kFile;
  if (model && !raw[Field::kFile].empty())
    problems_.add(raw, Field::kFile, {"Model already names a script", "empty one of them"});
  const std::string script(raw[field]);
  if (script.empty() || script == "-") {
    if (missing_.script) return;
    problems_.add(raw, field, {"names no script", "Model or File: a script, program or project"});
    return;
  }
  // A name with spaces, where there is such a file, is one word.
  const bool whole = script.find(' ') == std::string::npos || exists(script);
  auto words = whole ? std::vector{script} : shell_words(script);
  if (!words || words->empty()) {
    problems_.add(raw, field, {"a quote is not closed"});
    return;
  }
  row.command = *std::move(words);
  check_program(raw, field, row);
  if (exists(row.command.front() + "/MLproject")) {
    if (row.environment.empty()) row.environment = "mlproject=" + row.command.front();
    row.command.front() = "main";  // its entry point
  }
  read_params(raw, row);
  add_param(row.params, model ? "model" : "file", script);
}

void RowReader::check_program(const RawRow& raw, Field field, const Row& row) {
  const std::string& word = row.command.front();
  if (!known_.exists || in_container(row.environment) || exists(word + "/MLproject")) return;
  const bool path = word.find('/') != std::string::npos || fs::path(word).has_extension();
  // A program of PATH may be called as a folder here is.
  if (exists(word) && (path || !exists(word + "/."))) return check_executable(raw, field, word);
  if (!path) {
    const bool local = row.environment.empty() || row.environment == "-" ||
                       row.environment == "local" || row.environment == "none";
    if (!local || known_.path.empty()) return;
    for (const std::string_view directory : split(known_.path, ':')) {
      const std::string program = fmt::format("{}/{}", directory, word);
      if (!directory.empty() && exists(program) && executable(program)) return;
    }
  }
  problems_.add_once(raw, field,
                     {path ? "no such file in the plan's folder"
                           : "neither a file in the plan's folder nor a program in PATH",
                      nearest_file(word)});
}

// A .py file is its interpreter's to read.
void RowReader::check_executable(const RawRow& raw, Field field, const std::string& word) {
  if (word.ends_with(".py") || executable(word)) return;
  if (exists(word + "/.")) {
    problems_.add_once(
        raw, field, {"is a folder without an MLproject file", "name a script or a program in it"});
    return;
  }
  problems_.add_once(raw, field,
                     {"is a file that may not be executed",
                      fmt::format("chmod +x {}, or an interpreter before it: {} {}", word,
                                  word.ends_with(".sh") ? "sh" : "INTERPRETER", word)});
}

bool RowReader::executable(const std::string& name) const {
  return !known_.executable || known_.executable(directory_ / name);
}

bool RowReader::exists(const std::string& name) {
  if (!known_.exists) return false;
  const auto [entry, first] = exists_.try_emplace(name, false);
  if (first) entry->second = known_.exists(directory_ / name);
  return entry->second;
}

std::string RowReader::nearest_file(const std::string& word) const {
  if (!known_.names_in) return "";
  const fs::path given(word);
  const auto names = known_.names_in(directory_ / given.parent_path());
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_word(given.filename().string(), views);
  return near.empty() ? "" : fmt::format("did you mean {}?", (given.parent_path() / near).string());
}

void RowReader::read_params(const RawRow& raw, Row& row) {
  const std::string_view text = raw[Field::kParams];
  std::vector<std::string> words;
  if (!text.empty() && text != "-") {
    // The paper's form goes with the paper's column: elsewhere a=b goes to the script.
    const bool paper = !raw[Field::kModel].empty() && raw[Field::kFile].empty();
    auto read = paper ? paper_words(text) : std::nullopt;
    if (!read) read = shell_words(text);
    if (!read) {
      problems_.add(raw, Field::kParams, {"a quote is not closed"});
      return;
    }
    words = *std::move(read);
  }
  const std::string_view data = raw[Field::kData];
  if (!data.empty() && data != "-") {
    if (std::ranges::find(words, "--data") != words.end())
      problems_.add(raw, Field::kData, {"Params contain --data, too", "empty one of them"});
    words.insert(words.begin(), {"--data", std::string(data)});
  }
  row.params = params_of(words);
  add_param(row.params, "params", text == "-" ? "" : text);
  row.command.insert(row.command.end(), words.begin(), words.end());
}

void RowReader::read_listeners(const RawRow& raw, Row& row) {
  const std::string_view text = raw[Field::kListeners];
  if (text.empty() || text == "-") return;
  std::string joined = lower_ascii(text);
  std::ranges::replace(joined, ',', '+');
  std::string reason;
  for (const std::string_view part : split(joined, '+')) {
    const std::string_view word = trim(part);
    if (word.empty()) continue;
    if (!row.listeners.empty()) row.listeners += '+';
    row.listeners += word;
    if (!known_.listener_problem || joined == kNoListeners) continue;
    auto known = listeners_.find(word);
    if (known == listeners_.end())
      known = listeners_.emplace(word, known_.listener_problem(word)).first;
    if (!known->second.empty()) problems_.add_once(raw, Field::kListeners, {known->second});
  }
  add_param(row.params, "listeners", row.listeners);
}

void RowReader::read_share(const RawRow& raw, Row& row) {
  Share& share = row.share;
  row.collocation = raw[Field::kCollocation];
  const Verdict devices = read_devices(raw[Field::kDevices], share);
  note(raw, Field::kDevices, devices);
  note(raw, Field::kCollocation, read_collocation(raw[Field::kCollocation], share));
  note(raw, Field::kCpus, read_cpus(raw[Field::kCpus], share));
  note(raw, Field::kMemory, read_memory(raw[Field::kMemory], share));
  note(raw, Field::kClocks, read_clocks(raw[Field::kClocks], share));
  note(raw, Field::kPower, read_power(raw[Field::kPower], share));
  note(raw, Field::kCache, read_cache(raw[Field::kCache], share));
  if (devices || !share.devices.empty()) return;
  const auto needs_device = [&](Field field, bool asked) {
    if (asked) problems_.add(raw, field, {"needs a device", "name one in Devices"});
  };
  needs_device(Field::kCollocation,
               share.sharing == Sharing::kMps || share.sharing == Sharing::kMig);
  needs_device(Field::kClocks, share.sm_clock_mhz || share.memory_clock_mhz);
  needs_device(Field::kPower, share.power_watts.has_value());
}

void RowReader::read_course(const RawRow& raw, Row& row) {
  note(raw, Field::kLimits, read_limits(raw[Field::kLimits], row));
  note(raw, Field::kRepeat, read_repeat(raw[Field::kRepeat], row.repeat));
  note(raw, Field::kBaseline, read_flag(raw[Field::kBaseline], row.baseline));
  note(raw, Field::kTags, read_pairs(raw[Field::kTags], row.tags));
  note(raw, Field::kEnv, read_env(raw[Field::kEnv], row.env));
  if (in_container(row.environment)) check_reach(raw, row);
  note(raw, Field::kEnd, read_end(raw[Field::kEnd], row.end));
  note(raw, Field::kLoop, read_flag(raw[Field::kLoop], row.loop));
  row.ends_workload = row.end == WorkloadEnd::kNamed;
  row.after = read_after(raw[Field::kAfter]);
  if (row.loop && row.end != WorkloadEnd::kAll)
    problems_.add(raw, Field::kLoop,
                  {"restarts until the workload ends, so it cannot end the workload"});
}

// Reports values that this column cannot bring into a container.
void RowReader::check_reach(const RawRow& raw, const Row& row) {
  for (const auto& [name, value] : row.env) {
    if (std::ranges::find(kOfImage, name) == kOfImage.end()) continue;
    problems_.add_once(
        raw, Field::kEnv,
        {fmt::format("a container has {} of its image: this value does not reach it", name),
         fmt::format("env={}=... in Environment sets it there", name)},
        Severity::kWarning);
  }
}

}  // namespace corral::plan
