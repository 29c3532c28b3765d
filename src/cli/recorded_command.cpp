#include "cli/recorded_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "core/text.h"
#include "run/set_up/secrets.h"
#include "run/set_up/set_up.h"

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

Result<std::vector<std::string>> filled(std::vector<std::string> words, const Secrets& secrets) {
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

std::string moved(const std::string& word, const Move& move) {
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
      parts.push_back(moved(std::string(part), move));
    variable.value = join(parts, ":");
    variables.push_back(std::move(variable));
  }
  return variables;
}

}  // namespace corral::cli
