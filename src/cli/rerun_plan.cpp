#include "cli/rerun_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/answers.h"
#include "cli/destination.h"
#include "core/limits.h"
#include "core/text.h"
#include "environment/tool.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/packages.h"
#include "run/set_up/secrets.h"
#include "run/set_up/set_up.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;
using run::set_up::kMask;

// Names that say which process of which job this was.
constexpr auto kRanks = std::to_array<std::string_view>(
    {"WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NCCL_HOSTID", "NCCL_COMM_ID"});
// Variables that load code, or name files, devices and networks of a host. The environment sets its
// own.
constexpr auto kOfHost = std::to_array<std::string_view>(
    {"LD_PRELOAD", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
     "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
     "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"});
constexpr auto kOfHostParts = std::to_array<std::string_view>(
    {"INJECTION", "PLUGIN", "LIBRARY", "_PIPE_DIRECTORY", "_LOG_DIRECTORY", "IFNAME", "NET_DEVICES",
     "IB_HCA", "TOPO_FILE"});

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The name in front of a mask: "--password ***", "password=***", "\"token\": \"***".
std::string_view name_before(std::string_view text) {
  while (!text.empty() && std::string_view(" \t=:\"'`[],").find(text.back()) != text.npos)
    text.remove_suffix(1);
  std::size_t begin = text.size();
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin);
  return run::set_up::names_secret(name.substr(std::min(name.find_first_not_of('-'), name.size())))
             ? name
             : std::string_view();
}

// The mask at `at` of a word.
Masked masked_at(const std::vector<std::string>& words, std::size_t word, std::size_t at) {
  const std::string& text = words[word];
  const bool alone = text == kMask;
  const bool in_address = text.substr(at + kMask.size()).starts_with('@');
  std::string_view name;
  if (!in_address && alone && word > 0) name = name_before(words[word - 1]);
  if (!in_address && !alone) name = name_before(std::string_view(text).substr(0, at));
  return {.variable = variable_of_option(name),
          .where = alone && word > 0 ? words[word - 1] + " " + text : text};
}

template <class Visit>
void each_mask(const std::vector<std::string>& words, const Visit& visit) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t at = words[i].find(kMask); at != std::string::npos;
         at = words[i].find(kMask, at + kMask.size()))
      visit(i, at, masked_at(words, i, at));
  }
}

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string why_left_out(std::string_view name, std::string_view value) {
  if (!run::set_up::is_recorded(name)) return "no variable that runs are recorded with";
  if (contains(kRanks, name) || name.starts_with("SLURM_")) return "of a job's process";
  const auto holds = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (contains(kOfHost, name) || std::ranges::any_of(kOfHostParts, holds)) return "of the host";
  if (value.ends_with("…")) return "recorded only in part";
  return {};
}

}  // namespace

std::string variable_of_option(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string name;
  for (std::size_t i = 0; i < option.size(); ++i) {
    const char c = option[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 && option[i - 1] >= 'a' && option[i - 1] <= 'z') name += '_';
    name += c >= 'a' && c <= 'z'   ? static_cast<char>(c - 'a' + 'A')
            : c == '-' || c == '.' ? '_'
                                   : c;
  }
  return name;
}

std::vector<Masked> masked_in(const std::vector<std::string>& words) {
  std::vector<Masked> found;
  each_mask(words,
            [&](std::size_t, std::size_t, Masked masked) { found.push_back(std::move(masked)); });
  return found;
}

Result<std::vector<std::string>> fill_secrets(std::vector<std::string> words,
                                              const Secrets& secrets) {
  struct Slot {
    std::size_t word, at;
    const std::string* value;
  };
  std::vector<Slot> slots;
  std::optional<Masked> missing;
  each_mask(words, [&](std::size_t word, std::size_t at, const Masked& masked) {
    const auto found = secrets.find(masked);
    if (found == secrets.end()) missing = masked;
    if (found != secrets.end()) slots.push_back({word, at, &found->second});
  });
  if (missing)
    return fail(Code::kUnprocessable, fmt::format("{} was masked", printable(missing->where)));
  // From the back, so that places stay.
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot)
    words[slot->word].replace(slot->at, kMask.size(), *slot->value);
  return words;
}

std::string moved_path(const std::string& word, const Move& move) {
  const std::size_t equals = word.starts_with('/') ? std::string::npos : word.find('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  const std::string path = word.substr(begin);
  if (!path.starts_with(move.from) || move.from == "/") return word;
  const std::string normal = fs::path(path).lexically_normal().string();
  const bool below = normal == move.from || normal.starts_with(move.from + "/");
  if (!below || move.stay.contains(path)) return word;
  return word.substr(0, begin) + move.to + normal.substr(move.from.size());
}

std::vector<Variable> rerun_variables(std::string_view lines, const Move& move) {
  std::vector<Variable> variables;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    Variable variable{.name = std::string(line.substr(0, equals)),
                      .value = std::string(line.substr(equals + 1))};
    variable.left_out = why_left_out(variable.name, variable.value);
    std::vector<std::string> parts;
    for (const std::string_view part : split(variable.value, ':'))
      parts.push_back(moved_path(std::string(part), move));
    variable.value = join(parts, ":");
    variables.push_back(std::move(variable));
  }
  return variables;
}

namespace {

using environment::PrepareOptions;

constexpr std::size_t kShown = 5;  // differences

struct Python {
  std::string version, packages;
  bool operator==(const Python&) const = default;
};

std::string normalized_name(std::string_view name) {
  std::string out;
  for (const char c : lower_ascii(name)) {
    const bool sign = c == '_' || c == '.' || c == '-';
    if (!sign || !out.ends_with('-')) out += sign ? '-' : c;
  }
  return out;
}

using Versions = std::map<std::string, std::string>;
Versions parse_versions(std::string_view lines) {
  Versions versions;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t at = line.find("==");
    if (at != std::string_view::npos)
      versions[normalized_name(line.substr(0, at))] = line.substr(at + 2);
  }
  return versions;
}

// The interpreter that `corral run` would take for a .py file.
Result<std::string> python_here() {
  return TRY(sys::find_in_path(python_program(), sys::own_variable("PATH", "/usr/bin:/bin")))
      .string();
}

// As set_up::facts() records them.
Result<Python> ask_python(const std::string& python) {
  const auto known = TRY(run::set_up::ask_interpreter(
      python, {.argv = {}, .directory = "/", .limit = std::chrono::minutes(1), .idle = false}));
  run::set_up::Mask mask(true);
  return Python{.version = known.version,
                .packages = mask.text(run::set_up::python_packages(known.path))};
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> shown(
      texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, texts.size())));
  if (texts.size() > kShown) shown.push_back(fmt::format("{} more", texts.size() - kShown));
  return printable(join(shown, "; "));
}

// "3.11.2" of "Python 3.11.2".
std::string_view version_number(std::string_view version) {
  return version.substr(version.rfind(' ') + 1);
}

// "3.11" of "3.11.2".
std::string_view without_patch(std::string_view number) {
  const std::size_t dot = number.find('.');
  return number.substr(0, dot == number.npos ? dot : number.find('.', dot + 1));
}

// Lines of requirements.txt. Packages that a name and a version alone cannot install are skipped.
std::string to_requirements(std::string_view packages) {
  std::string lines;
  for (const auto& [name, version] : parse_versions(packages)) {
    const auto plain = [](std::string_view text) {
      return text.find_first_not_of(
                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                 "0123456789.+!-_") == text.npos;
    };
    if (!plain(name) || !plain(version) || version.empty()) continue;
    if (name != "pip" && name != "setuptools" && name != "wheel")
      lines += fmt::format("{}=={}\n", name, version);
  }
  return lines;
}

// A run without an environment of its own, or whose environment is not here.
Result<RerunEnvironment> by_packages(const Json& info, const EnvironmentRequest& request,
                                     const std::string& why) {
  RerunEnvironment chosen{.text = "as in this shell"};
  const std::string version = info.get_string("interpreter_version").empty()
                                  ? info.get_string("environment.python_version")
                                  : info.get_string("interpreter_version");
  const std::string packages = info.get_string("environment.packages");
  if (version.empty() && packages.empty() && why.empty()) return chosen;
  const auto python = python_here();
  const auto here = python ? ask_python(*python) : tl::unexpected(python.error());
  std::vector<std::string> differences;
  if (!why.empty()) differences.push_back(why);
  if (here && version_number(here->version) != version_number(version))
    differences.push_back(fmt::format("{}, here {}", version, here->version));
  if (here) {
    for (std::string& text : package_differences(packages, here->packages))
      differences.push_back(std::move(text));
  } else {
    differences.push_back(here.error().message);
  }
  const bool same = here && differences.size() == (why.empty() ? 0U : 1U);
  if (same) {
    chosen.text = fmt::format("{}, {} with the same packages", *python, here->version);
    if (!why.empty()) chosen.notes.push_back(why);
    return chosen;
  }
  chosen.notes = differences;
  if (request.any) {
    chosen.text = "as in this shell, which differs";
    return chosen;
  }
  const bool cut = packages.find("… (") != std::string::npos;
  const auto uv = environment::find_tool("uv", "install it");
  if (uv && !packages.empty() && !cut) {
    chosen.requirements = to_requirements(packages);
    chosen.spec = fmt::format("uv={};python={}", kRecordedRequirements,
                              without_patch(version_number(version)));
    chosen.text = fmt::format("{}, built by uv from the recorded packages", chosen.spec);
    return chosen;
  }
  return fail(Code::kUnprocessable,
              fmt::format("the environment differs: {}; --environment SPEC names another one, "
                          "--any-environment takes this one{}",
                          listed(differences),
                          uv ? "" : ", and with uv installed the recorded one is built"));
}

}  // namespace

std::vector<std::string> package_differences(std::string_view recorded, std::string_view here) {
  const Versions old = parse_versions(recorded), now = parse_versions(here);
  std::vector<std::string> differences;
  for (const auto& [name, version] : old) {
    const auto found = now.find(name);
    if (found == now.end()) differences.push_back(fmt::format("{} {}, not here", name, version));
    if (found != now.end() && found->second != version)
      differences.push_back(fmt::format("{} {}, here {}", name, version, found->second));
  }
  for (const auto& [name, version] : now)
    if (!old.contains(name)) differences.push_back(fmt::format("{} {} only here", name, version));
  return differences;
}

Result<RerunEnvironment> choose_environment(const Json& info, const EnvironmentRequest& request,
                                            const PrepareOptions& options) {
  if (!request.spec.empty()) {
    TRY(environment::parse(request.spec));
    return RerunEnvironment{.spec = request.spec, .text = request.spec + " (chosen)"};
  }
  const std::string recorded = info.get_string("environment.spec");
  if (recorded.empty() || recorded == "local") return by_packages(info, request, "");
  const auto spec = environment::parse(recorded);
  if (!spec)
    return by_packages(info, request, "recorded environment " + recorded + " is not known");
  const RerunEnvironment as_recorded{.spec = recorded, .text = recorded};
  // Its files may come with the code; and a tool is not started with a server's words before the
  // user agreed.
  const bool starts_tool = spec->kind == environment::Kind::kContainer;
  if (!request.restored && (starts_tool || !fs::path(spec->target).is_absolute()))
    return as_recorded;
  PrepareOptions there = options;
  there.directory = request.directory;
  const auto possible = environment::check(*spec, there);
  if (possible || possible.error().code == Code::kUnavailable) return as_recorded;
  return by_packages(
      info, request,
      fmt::format("recorded environment {}: {}", recorded, possible.error().message));
}

namespace {

Result<std::vector<std::string>> recorded_command(const Json& run) {
  std::vector<std::string> words;
  for (const Json& word : items(run, "command")) {
    if (word.as_string() == nullptr || word.as_string()->find('\0') != std::string::npos)
      return fail(Code::kUnprocessable, "the run's command is not one that can be executed");
    if (word.as_string()->ends_with("…") || word.as_string()->starts_with("… ("))
      return fail(Code::kUnprocessable,
                  "the run's command was too long to be recorded whole: it cannot run again");
    words.push_back(*word.as_string());
  }
  if (words.empty() || words[0].empty())
    return fail(Code::kUnprocessable, "no command was recorded with the run");
  return words;
}

bool was_masked(const Json& info, const char* part) {
  return info.get_int(std::string("masked.") + part) > 0;
}

// The command worked outside of the root: its relative words are paths seen from there.
void resolve_from_outside(const KeptCode& code, std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (word.starts_with('-') || word.starts_with('/')) continue;
    const std::string path = (fs::path(code.directory) / word).lexically_normal().string();
    const auto is_it = [&](const KeptFile& file) { return code.root + "/" + file.path == path; };
    if (std::ranges::any_of(code.files, is_it)) word = path;
  }
}

// Data below the old root that was not kept and is still there is meant as it is.
Move path_move(const KeptCode& code, const std::vector<std::string>& words, const fs::path& to) {
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
std::vector<std::pair<std::string, std::string>> given_pairs(const Json& run, const char* what) {
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
Result<std::vector<std::string>> repository_sources(const KeptCode& code,
                                                    const std::string& chosen) {
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

std::optional<std::string> data_difference(const Json& info, const Data& data,
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

Result<RerunPlan> plan_rerun(const Json& run, const Json& list, const RerunRequest& request) {
  const Json& info = member(run, "info");
  RerunPlan plan{.id = run.get_string("id"),
                 .name = request.name.empty() ? run.get_string("name") : request.name,
                 .experiment = run.get_string("experiment"),
                 .host = run.get_string("host"),
                 .code = TRY(read_kept_code(list)),
                 .directory = request.directory,
                 .params = given_pairs(run, "params"),
                 .tags = given_pairs(run, "tags")};
  const bool outside = plan.code.directory.starts_with('/');
  plan.work = outside || plan.code.directory.empty() ? plan.directory
                                                     : plan.directory / plan.code.directory;
  plan.sources = TRY(repository_sources(plan.code, request.repository));
  plan.command = TRY(recorded_command(run));
  if (outside) resolve_from_outside(plan.code, plan.command);
  const Move move = path_move(plan.code, plan.command, plan.directory);
  for (std::string& word : plan.command) {
    std::string there = moved_path(word, move);
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
                                          const DataCheck& check) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : run::set_up::data_options(plan.command)) {
    if (info.get_int("data." + name + ".files", -1) < 0) continue;
    const Data data{.name = name, .value = value, .path = (plan.work / value).lexically_normal()};
    if (!check.restored && is_expected(data, plan)) continue;
    if (auto text = data_difference(info, data, check.stop)) {
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
