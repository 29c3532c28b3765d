#include "cli/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/table.h"
#include "core/text.h"

namespace corral::cli {
namespace {

// In the order in which they are shown.
constexpr std::array kParts = std::to_array<std::string_view>(
    {"run", "param", "tag", "code", "package", "variable", "environment", "set-up", "at start"});

using Key = std::pair<std::size_t, std::string>;  // part, name
using SetUp = std::map<Key, std::string>;

std::size_t part_index(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kParts, name) - kParts.begin());
}

class SetUpReader {
 public:
  explicit SetUpReader(const Json& run) : run_(run) {}
  SetUp read() {
    for (const char* key : {"experiment", "workload", "host"}) put("run", key, run_.find(key));
    put("run", "command", run_.find("command"));
    each("params",
         [this](const std::string& key, const Json& value) { put("param", key, &value); });
    each("tags", [this](const std::string& key, const Json& value) {
      if (!is_result(key)) put("tag", key, &value);
    });
    each("info", [this](const std::string& key, const Json& value) { add_info(key, value); });
    for (const Json& one : items(run_, "unavailable")) add_missing(one);
    return std::move(found_);
  }

 private:
  template <class Add>
  void each(const char* name, const Add& add) {
    if (const auto* object = member(run_, name).as_object())
      for (const auto& [key, value] : *object) add(key, value);
  }

  // Tags that describe the result of a run, not its set-up.
  static bool is_result(std::string_view tag) {
    return tag.starts_with("corral.outcome") || tag == "corral.start_skew_ms" ||
           tag == "mlflow.parentRunId";
  }

  void put(std::string_view part, std::string key, const Json* value) {
    if (value == nullptr || value->is_null()) return;
    const auto* words = value->as_array();
    std::string text = words != nullptr ? plain_words(*words) : plain(*value).text;
    if (!text.empty()) found_[{part_index(part), std::move(key)}] = std::move(text);
  }

  // A list of lines: "numpy==1.26.4" (`sign` "==") or "OMP_NUM_THREADS=4" ("=").
  void put_lines(std::string_view part, std::string_view sign, const Json& value) {
    const std::string* lines = value.as_string();
    if (lines == nullptr) return;
    for (const std::string_view line : split(*lines, '\n')) {
      const std::size_t at = line.find(sign);
      const bool bare = at == std::string_view::npos;
      if (!line.empty())
        found_[{part_index(part), std::string(line.substr(0, at))}] =
            bare ? "there" : line.substr(at + sign.size());
    }
  }

  void add_info(const std::string& key, const Json& value) {
    constexpr std::string_view kSetUp = "set_up.", kAtStart = "at_start.",
                               kEnvironment = "environment.";
    if (key.starts_with("collecting_") || key == "command") return;
    if (key == "environment.packages" || key == "environment.conda") {
      put_lines("package", "==", value);
    } else if (key == "environment.variables") {
      put_lines("variable", "=", value);
    } else if (key.starts_with("git_") || key == "code.hash") {
      put("code", key, &value);
    } else if (key.starts_with("code.") || key.starts_with("given.")) {
      return;  // counts; params and tags are there themselves
    } else if (key.starts_with(kSetUp)) {
      put("set-up", key.substr(kSetUp.size()), &value);
    } else if (key.starts_with(kAtStart)) {
      put("at start", key.substr(kAtStart.size()), &value);
    } else {
      put("environment", key.starts_with(kEnvironment) ? key.substr(kEnvironment.size()) : key,
          &value);
    }
  }

  // A sensor that was not there is part of the set-up, too.
  void add_missing(const Json& one) {
    const std::string source = one.get_string("source");
    if (source == "environment.packages" || source == "environment.variables") return;
    const Json text("not available: " + one.get_string("reason"));
    add_info(source == "git" ? "git_commit" : source, text);
  }

  const Json& run_;
  SetUp found_;
};

// The files of a run, each with the known facts about its content.
class CodeFiles {
 public:
  explicit CodeFiles(const Json& list) {
    for (const Json& file : items(list, "files")) {
      const std::string link = file.get_string("link");
      const std::string mode = file.get_string("mode");
      files_[file.get_string("path")] = !link.empty()   ? "link to " + link
                                        : mode == "755" ? file.get_string("sha256") + " 755"
                                                        : file.get_string("sha256");
      if (file.get_string("why") == "tracked") unchanged_.insert(file.get_string("path"));
      if (file.get_string("why") == "untracked") untracked_.insert(file.get_string("path"));
    }
    for (const Json& file : items(list, "left_out")) {
      const std::string hash = file.get_string("sha256");
      files_[file.get_string("path")] =
          hash.empty() ? "not kept: " + file.get_string("reason") : hash;
      if (hash.empty()) untracked_.insert(file.get_string("path"));
    }
    for (const Json& path : items(member(list, "git"), "deleted"))
      if (path.as_string() != nullptr) deleted_.insert(*path.as_string());
    if (const bool* whole = member(list, "whole").as_bool()) whole_ = *whole;
    commit_ = member(list, "git").get_string("commit");
  }

  [[nodiscard]] const std::map<std::string, std::string>& files() const { return files_; }
  // Returns nullopt if this run has no such file, as far as is known. `other` has it.
  [[nodiscard]] std::optional<std::string> find(const std::string& path,
                                                const CodeFiles& other) const {
    const auto found = files_.find(path);
    if (found != files_.end()) return found->second;
    if (whole_ || commit_.empty() || deleted_.contains(path) || other.untracked_.contains(path))
      return std::nullopt;
    return "as in commit " + commit_;
  }
  // A file as the commit has it, which is all that the other run's list would say of it, too.
  [[nodiscard]] bool is_unchanged(const std::string& path) const {
    return unchanged_.contains(path);
  }

 private:
  std::map<std::string, std::string> files_;
  std::set<std::string> unchanged_, untracked_, deleted_;
  std::string commit_;
  bool whole_ = false;
};

std::string kept_text(const Json& list) {
  const auto* files = member(list, "files").as_array();
  return files == nullptr ? "not kept" : std::to_string(files->size()) + " files kept";
}

// File by file; one line where the code of one run was not kept.
void compare_code(const Json& a, const Json& b, std::vector<Difference>& differences) {
  const bool has_a = a.as_object() != nullptr, has_b = b.as_object() != nullptr;
  if (has_a != has_b) differences.push_back({"code", "files", kept_text(a), kept_text(b)});
  if (!has_a || !has_b) return;
  const CodeFiles of_a(a), of_b(b);
  std::set<std::string> paths;
  for (const CodeFiles* code : {&of_a, &of_b})
    for (const auto& [path, hash] : code->files()) paths.insert(path);
  for (const std::string& path : paths) {
    auto hash_a = of_a.find(path, of_b), hash_b = of_b.find(path, of_a);
    const bool unknown = (of_a.is_unchanged(path) && !of_b.files().contains(path) && hash_b) ||
                         (of_b.is_unchanged(path) && !of_a.files().contains(path) && hash_a);
    if (hash_a != hash_b && !unknown)
      differences.push_back({"code", path, std::move(hash_a), std::move(hash_b)});
  }
}

std::optional<std::string> value_of(const SetUp& set_up, const Key& key) {
  const auto found = set_up.find(key);
  return found != set_up.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace

std::vector<Difference> compare_runs(const Json& a, const Json& b) {
  const SetUp of_a = SetUpReader(a).read(), of_b = SetUpReader(b).read();
  SetUp all = of_a;
  all.insert(of_b.begin(), of_b.end());
  std::vector<Difference> differences;
  for (const auto& [key, unused] : all) {
    std::optional<std::string> text_a = value_of(of_a, key), text_b = value_of(of_b, key);
    if (text_a == text_b) continue;
    differences.push_back(
        {std::string(kParts.at(key.first)), key.second, std::move(text_a), std::move(text_b)});
  }
  compare_code(member(a, "code"), member(b, "code"), differences);
  std::ranges::stable_sort(differences, {}, [](const Difference& d) { return part_index(d.part); });
  return differences;
}

namespace {

constexpr const char* kDiffExamples =
    "  corral diff @2 @1                  the newest run against the one before\n"
    "  corral diff @2 @1 --part package   packages alone\n"
    "  corral diff 3f2a 91bc --format json\n";
constexpr std::size_t kWidest = 48;  // bytes of a cell for people

struct DiffFlags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string format = "table", part;
};

// For people: one line, cut. A patch is not shown, only that it differs.
std::string brief(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  const bool whole = line.size() == text.size() && line.size() <= kWidest;
  line = line.substr(0, utf8_prefix(std::string_view(line).substr(0, kWidest)));
  return printable(whole ? line : line + "…");
}

void print_differences(const std::vector<Difference>& differences, const std::vector<Json>& runs,
                       const std::string& format) {
  const bool table_of_text = format == "table";
  Table table({{"part", "PART"},
               {"key", "WHAT"},
               {"a", table_of_text ? brief(runs[0].get_string("name")) : "a"},
               {"b", table_of_text ? brief(runs[1].get_string("name")) : "b"}});
  const auto cell = [](const std::optional<std::string>& text) {
    return text ? Cell{Json(*text), brief(*text)} : Cell{Json(), "–"};
  };
  for (const Difference& d : differences)
    table.add({plain(d.part), plain(d.key), cell(d.a), cell(d.b)});
  if (differences.empty() && table_of_text)
    fmt::print("no difference\n");
  else
    fmt::print("{}", table.print(format));
}

Result<Json> read_run(const sys::HttpTarget& server, const std::string& name) {
  Json run = TRY(get_json(server, run_path(name)));
  auto code = get_json(server, run_path(run.get_string("id"), "/artifacts/corral/code.json"));
  if (!code && code.error().code != Code::kNotFound && code.error().code != Code::kUnsupported)
    return code;
  if (code) run.set("code", *std::move(code));
  return run;
}

Result<int> diff(const DiffFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  std::vector<Json> runs;
  runs.reserve(flags.runs.size());
  for (const std::string& name : flags.runs) runs.push_back(TRY(read_run(server, name)));
  auto differences = compare_runs(runs[0], runs[1]);
  if (!flags.part.empty())
    std::erase_if(differences, [&](const Difference& d) { return d.part != flags.part; });
  print_differences(differences, runs, flags.format);
  return kDone;
}

}  // namespace

int diff_command(std::span<char* const> args) {
  DiffFlags flags;
  Arguments arguments("diff",
                      "Shows how two runs differ in params, tags, code, packages, variables and "
                      "settings of the host.",
                      kDiffExamples);
  arguments.positionals("run", flags.runs, std::string("two runs: ") + kRunHelp, false);
  arguments.choice("format", flags.format, {"table", "json", "csv"},
                   "output format (default: table)");
  arguments.choice(
      "part", flags.part,
      {"run", "param", "tag", "code", "package", "variable", "environment", "set-up", "at start"},
      "run, param, tag, code, package, variable, environment, set-up, at start");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.runs.size() != 2) {
    return report("diff RUN RUN",
                  {.code = Code::kInvalidArgument,
                   .message = fmt::format("expected two runs, got {}", flags.runs.size())});
  }
  return finish("diff", diff(flags));
}

}  // namespace corral::cli
