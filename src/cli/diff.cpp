#include "cli/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyze/compare/set_up.h"
#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/table.h"
#include "core/text.h"

namespace corral::cli {
namespace {

using analyze::SetUp;

std::size_t part_index(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(analyze::kSetUpParts, name) -
                                  analyze::kSetUpParts.begin());
}

std::vector<std::pair<std::string, std::string>> texts_of(const Json& run, const char* name) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (const auto* object = member(run, name).as_object())
    for (const auto& [key, value] : *object) texts.emplace_back(key, plain(value).text);
  return texts;
}

// The facts of a run that its set-up is read from.
store::Run facts_of(const Json& run) {
  store::Run facts;
  facts.experiment_name = run.get_string("experiment");
  facts.workload_name = run.get_string("workload");
  facts.host = run.get_string("host");
  facts.params = texts_of(run, "params");
  facts.tags = texts_of(run, "tags");
  if (const Json* command = run.find("command"))
    facts.info.emplace_back("command", command->dump());
  if (const auto* object = member(run, "info").as_object()) {
    for (const auto& [key, value] : *object)
      if (key != "command") facts.info.emplace_back(key, value.dump());
  }
  for (const Json& one : items(run, "unavailable"))
    facts.unavailable.emplace_back(one.get_string("source"), one.get_string("reason"));
  return facts;
}

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

std::optional<std::string> value_of(const SetUp& set_up, const SetUp::key_type& key) {
  const auto found = set_up.find(key);
  return found != set_up.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace

std::vector<Difference> compare_runs(const Json& a, const Json& b) {
  const SetUp of_a = analyze::read_set_up(facts_of(a)), of_b = analyze::read_set_up(facts_of(b));
  SetUp all = of_a;
  all.insert(of_b.begin(), of_b.end());
  std::vector<Difference> differences;
  for (const auto& [key, unused] : all) {
    std::optional<std::string> text_a = value_of(of_a, key), text_b = value_of(of_b, key);
    if (text_a == text_b) continue;
    differences.push_back({std::string(analyze::kSetUpParts.at(key.first)), key.second,
                           std::move(text_a), std::move(text_b)});
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

struct DiffFlags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string format = "table", part;
};

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

// Adds the list of the run's code. Returns why it cannot be read; empty: it can, or there is none.
Result<std::string> add_code(const sys::HttpTarget& server, Json& run) {
  auto code = get_json(server, run_path(run.get_string("id"), "/artifacts/corral/code.json"));
  if (code) {
    run.set("code", *std::move(code));
    return std::string();
  }
  switch (code.error().code) {
    case Code::kNotFound:
    case Code::kUnsupported:
      return std::string();
    case Code::kInvalidArgument:  // an imported run's artifacts, which the server does not reach
      return code.error().message;
    default:
      return tl::unexpected(code.error());
  }
}

Result<int> diff(const DiffFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  std::vector<Json> runs;
  bool has_code = true;
  for (const std::string& name : flags.runs) {
    runs.push_back(TRY(get_json(server, run_path(name))));
    const std::string reason = TRY(add_code(server, runs.back()));
    if (reason.empty()) continue;
    has_code = false;
    complain("diff", fmt::format("the code of {} is not here and is not compared: {}",
                                 printable(name), printable(reason)));
  }
  if (!has_code)
    for (Json& run : runs) run.set("code", nullptr);
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
