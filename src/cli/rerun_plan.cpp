#include "cli/rerun_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "cli/answers.h"
#include "core/limits.h"
#include "core/text.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/secrets.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;
using run::set_up::kMask;

Result<std::vector<std::string>> recorded_command(const Json& run) {
  std::vector<std::string> words;
  if (const auto* list = member(run, "command").as_array()) {
    for (const Json& word : *list) {
      if (word.as_string() == nullptr || word.as_string()->find('\0') != std::string::npos)
        return fail(Code::kUnprocessable, "the run's command is not one that can be executed");
      if (word.as_string()->ends_with("…") || word.as_string()->starts_with("… ("))
        return fail(Code::kUnprocessable,
                    "the run's command was too long to be recorded whole: it cannot run again");
      words.push_back(*word.as_string());
    }
  }
  if (words.empty() || words[0].empty())
    return fail(Code::kUnprocessable, "no command was recorded with the run");
  return words;
}

bool was_masked(const Json& info, const char* part) {
  return info.get_int(std::string("masked.") + part) > 0;
}

// The command worked outside of the root: its relative words are paths seen from there.
void look_from_outside(const KeptCode& code, std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (word.starts_with('-') || word.starts_with('/')) continue;
    const std::string path = (fs::path(code.directory) / word).lexically_normal().string();
    const auto is_it = [&](const KeptFile& file) { return code.root + "/" + file.path == path; };
    if (std::ranges::any_of(code.files, is_it)) word = path;
  }
}

// Data below the old root that was not kept and is still there is meant as it is.
Move move_of(const KeptCode& code, const std::vector<std::string>& words, const fs::path& to) {
  Move move{.from = code.root, .to = to.string()};
  std::error_code error;
  for (const auto& [option, value] : run::set_up::data_options(words)) {
    const std::string& path = value;
    const auto is_kept = [&](const KeptFile& file) {
      return (code.root + "/" + file.path).starts_with(path);
    };
    const bool kept = std::ranges::any_of(code.files, is_kept);
    if (path.starts_with('/') && !kept && fs::exists(path, error)) move.stay.insert(path);
  }
  return move;
}

// Those that the command line gave; others come from the script again.
std::vector<std::pair<std::string, std::string>> given(const Json& run, const char* what) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const std::string names = member(run, "info").get_string(std::string("given.") + what);
  for (const std::string_view name : split(names, '\n')) {
    const Json* value = member(run, what).find(name);
    if (!name.empty() && value != nullptr && value->as_string() != nullptr)
      pairs.emplace_back(name, *value->as_string());
  }
  return pairs;
}

// Local first: nothing has to travel.
Result<std::vector<std::string>> sources_of(const KeptCode& code, const std::string& chosen) {
  if (code.commit.empty()) return std::vector<std::string>();
  std::error_code error;
  if (!chosen.empty()) {
    const bool here = fs::exists(chosen, error);
    const std::string source = here ? fs::absolute(chosen, error).string() : chosen;
    TRY(check_repository(source));
    return std::vector<std::string>{source};
  }
  std::vector<std::string> sources;
  if (fs::exists(fs::path(code.root) / ".git", error)) sources.push_back(code.root);
  if (!code.remote.empty()) sources.push_back(code.remote);
  return sources;
}

void add_notes(RerunPlan& plan) {
  const KeptCode& code = plan.code;
  const auto note = [&](std::string text) { plan.notes.push_back(std::move(text)); };
  const auto place = [&](const std::string& path) {
    return printable(path.starts_with('/') ? path : code.root + "/" + path);
  };
  if (code.directory.starts_with('/'))
    note(fmt::format("the command worked in {}, outside of the project; it starts in {}",
                     printable(code.directory), plan.work.string()));
  if (!code.whole && code.commit.empty())
    note("the code was not kept whole, and it was not in a git repository");
  if (code.whole && !code.commit.empty() && plan.sources.empty())
    note("no repository with commit " + code.commit +
         " is known here: the kept files are restored outside of git");
  for (const KeptFile& file : code.files) {
    if (file.changed_meanwhile)
      note(fmt::format("{} was changed while the run started", printable(file.path)));
    if (!file.link.empty() && !stays_inside(file.path, file.link))
      note(fmt::format("{} is not restored: it links to {}, outside of the project",
                       printable(file.path), printable(file.link)));
  }
  for (const std::string& path : code.outside)
    note(fmt::format("{} is not restored: it was outside of the project", printable(path)));
  for (const LeftOut& file : code.left_out)
    if (file.needed)
      note(fmt::format("{} is not restored, and the run used it: {}; it was at {} on {}",
                       printable(file.path), printable(file.reason), place(file.path),
                       printable(plan.host)));
}

void find_masked(const Json& info, RerunPlan& plan) {
  if (was_masked(info, "command")) plan.masked = masked_in(plan.command);
  if (was_masked(info, "environment.variables")) {
    for (const Variable& variable : plan.variables)
      if (variable.left_out.empty() && variable.value.find(kMask) != std::string::npos)
        plan.masked.push_back({.variable = variable.name, .where = variable.name});
  }
  std::vector<Masked> once;
  for (Masked& masked : plan.masked)
    if (std::ranges::find(once, masked) == once.end()) once.push_back(std::move(masked));
  plan.masked = std::move(once);
}

struct Data {
  std::string name, value;
  fs::path path;
};

// True if restoring the code may bring this data.
bool is_expected(const Data& data, const RerunPlan& plan) {
  const std::string root = plan.directory.string() + "/", path = data.path.string();
  if (!path.starts_with(root)) return false;
  if (!plan.code.whole && !plan.sources.empty()) return true;
  return std::ranges::any_of(
      plan.code.files, [&](const KeptFile& file) { return (root + file.path).starts_with(path); });
}

std::optional<std::string> difference_of_data(const Json& info, const Data& data,
                                              const std::function<bool()>& stop) {
  const std::string key = "data." + data.name;
  const std::int64_t files = info.get_int(key + ".files", -1);
  const std::int64_t bytes = info.get_int(key + ".bytes", -1);
  std::int64_t files_here = -1, bytes_here = -1;
  for (const codec::Fact& fact :
       run::set_up::data_sets({{data.name, data.path.string()}}, "/", {})) {
    if (fact.key == key + ".files") files_here = parse_int(fact.value).value_or(-1);
    if (fact.key == key + ".bytes") bytes_here = parse_int(fact.value).value_or(-1);
  }
  const std::string where = printable(data.path.string());
  if (files_here < 0) return fmt::format("{}: {} is not there or cannot be counted", key, where);
  if (files != files_here || bytes != bytes_here)
    return fmt::format("{}: {} holds {} files of {} bytes; the run had {} of {}", key, where,
                       files_here, bytes_here, files, bytes);
  const std::string hash = info.get_string(key + ".hash");
  if (hash.empty()) return std::nullopt;
  const auto here = run::set_up::data_hash(data.path, stop);
  if (!here) return fmt::format("{}: {} cannot be read: {}", key, where, here.error().message);
  if (*here == hash) return std::nullopt;
  return fmt::format("{}: {} has another content than the run had", key, where);
}

}  // namespace

Result<RerunPlan> plan_rerun(const Json& run, const Json& list, const RerunWish& wish) {
  const Json& info = member(run, "info");
  RerunPlan plan{.id = run.get_string("id"),
                 .name = wish.name.empty() ? run.get_string("name") : wish.name,
                 .experiment = run.get_string("experiment"),
                 .host = run.get_string("host"),
                 .code = TRY(read_kept_code(list)),
                 .directory = wish.directory,
                 .params = given(run, "params"),
                 .tags = given(run, "tags")};
  const bool outside = plan.code.directory.starts_with('/');
  plan.work = outside || plan.code.directory.empty() ? plan.directory
                                                     : plan.directory / plan.code.directory;
  plan.sources = TRY(sources_of(plan.code, wish.repository));
  plan.command = TRY(recorded_command(run));
  if (outside) look_from_outside(plan.code, plan.command);
  const Move move = move_of(plan.code, plan.command, plan.directory);
  for (std::string& word : plan.command) {
    std::string there = moved(word, move);
    if (there != word)
      plan.notes.push_back(fmt::format("{} is {} now", printable(word), printable(there)));
    word = std::move(there);
  }
  plan.variables = rerun_variables(info.get_string("environment.variables"), move);
  find_masked(info, plan);
  add_notes(plan);
  return plan;
}

std::vector<std::string> data_differences(const Json& info, const RerunPlan& plan,
                                          const DataLook& look) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : run::set_up::data_options(plan.command)) {
    if (info.get_int("data." + name + ".files", -1) < 0) continue;
    const Data data{.name = name, .value = value, .path = (plan.work / value).lexically_normal()};
    if (!look.restored && is_expected(data, plan)) continue;
    if (auto text = difference_of_data(info, data, look.stop)) {
      std::error_code error;
      const fs::path old = fs::path(plan.code.root) / plan.code.directory / value;
      if (!value.starts_with('/') && fs::exists(old, error) && !fs::exists(data.path, error))
        *text += "; " + printable(old.string()) + " is";
      differences.push_back(*std::move(text));
    }
  }
  return differences;
}

}  // namespace corral::cli
