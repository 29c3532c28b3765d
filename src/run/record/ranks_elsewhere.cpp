#include "run/record/ranks_elsewhere.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "core/text.h"
#include "sys/file.h"

namespace corral::run {
namespace {

constexpr std::size_t kHostFileBytes = 1u << 20;
constexpr std::array<std::string_view, 5> kMpi = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun",
                                                  "prterun"};

// Returns the value of "-N 2", "-N2", "--nodes 2" or "--nodes=2" before the launched command.
std::optional<std::string> option(const std::vector<std::string>& words,
                                  const std::vector<std::string_view>& names) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const std::string_view name : names) {
      const std::string_view word = words[i];
      if (word == name) return i + 1 < words.size() ? words[i + 1] : std::string();
      if (!word.starts_with(name)) continue;
      const std::string_view rest = word.substr(name.size());
      if (rest.starts_with('=')) return std::string(rest.substr(1));
      if (name.size() == 2 && name[1] == 'N') return std::string(rest);
    }
  }
  return std::nullopt;
}

// "a:2,b" and lines of "a slots=2": names of hosts.
std::size_t count_hosts(std::string_view text, char separator) {
  std::set<std::string_view> hosts;
  for (const std::string_view part : split(text, separator)) {
    const std::string_view entry = trim(part);
    if (!entry.empty() && entry.front() != '#')
      hosts.insert(entry.substr(0, entry.find_first_of(" \t:")));
  }
  return hosts.size();
}

std::size_t hosts_in_file(const std::string& path) {
  const auto text = path.empty() ? tl::unexpected(Error()) : sys::read_file(path, kHostFileBytes);
  return text ? count_hosts(*text, '\n') : 0;
}

std::size_t nodes_of_job(const Variable& variable) {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
    if (const auto nodes = parse_int(variable(name))) return static_cast<std::size_t>(*nodes);
  return hosts_in_file(variable("PBS_NODEFILE"));
}

// "2" or "2-4"
std::optional<std::size_t> least_nodes(const std::optional<std::string>& text) {
  const auto nodes = text ? parse_int(text->substr(0, text->find('-'))) : std::nullopt;
  return nodes && *nodes > 0 ? std::optional(static_cast<std::size_t>(*nodes)) : std::nullopt;
}

// Returns the number of nodes; 0: unknown.
std::size_t nodes_of(std::string_view launcher, const std::vector<std::string>& words,
                     const Variable& variable) {
  if (launcher == "srun") {
    if (const auto nodes = least_nodes(option(words, {"-N", "--nodes"}))) return *nodes;
    return nodes_of_job(variable);
  }
  if (const auto list = option(words, {"-H", "-host", "--host", "-hosts", "--hosts"}))
    return count_hosts(*list, ',');
  if (const auto file =
          option(words, {"-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"}))
    return hosts_in_file(*file);
  return nodes_of_job(variable);
}

}  // namespace

std::string ranks_elsewhere(const std::vector<std::string>& command, const std::string& host,
                            const Variable& variable) {
  if (command.empty()) return {};
  const std::string launcher = std::filesystem::path(command[0]).filename().string();
  const bool mpi = std::ranges::find(kMpi, launcher) != kMpi.end();
  if (launcher != "srun" && !mpi) return {};
  const std::size_t nodes = nodes_of(launcher, command, variable);
  // Outside of a job srun requests nodes, which may be any.
  const bool asks = launcher == "srun" && variable("SLURM_JOB_ID").empty();
  if (nodes < 2 && !asks) return {};
  const std::string where = nodes < 2 ? "other hosts" : fmt::format("{} hosts", nodes);
  return fmt::format(
      "{0} starts ranks on {1}, but only processes on {2} are recorded in this run; to record "
      "every rank: {0} ... corral run ...",
      launcher, where, host);
}

}  // namespace corral::run
