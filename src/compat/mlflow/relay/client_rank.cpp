#include "compat/mlflow/relay/client_rank.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "spool/segment_identity.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {
namespace {

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> all;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) all.push_back(word);
  }
  return all;
}

// The inode of the client's socket: local and remote address are fields 1 and 2 of
// /proc/net/tcp, the inode is field 9.
std::string find_inode(const std::string& table, std::uint16_t client, std::uint16_t server) {
  const std::string local = fmt::format(":{:04X}", client);
  const std::string remote = fmt::format(":{:04X}", server);
  for (const std::string_view line : split(table, '\n')) {
    const auto fields = words(line);
    if (fields.size() > 9 && fields[1].ends_with(local) && fields[2].ends_with(remote))
      return std::string(fields[9]);
  }
  return {};
}

bool holds(pid_t pid, const std::string& socket) {
  const sys::fs::path folder = fmt::format("/proc/{}/fd", pid);
  std::array<char, 64> link{};
  for (const std::string& name : sys::list_directory(folder)) {
    const ssize_t n = ::readlink((folder / name).c_str(), link.data(), link.size());
    if (n > 0 && std::string_view(link.data(), static_cast<std::size_t>(n)) == socket) return true;
  }
  return false;
}

std::optional<std::int64_t> read_rank(pid_t pid) {
  const auto environment = sys::read_file(fmt::format("/proc/{}/environ", pid));
  if (!environment) return std::nullopt;
  // Each ends with a zero byte.
  const std::vector<std::string_view> entries = split(*environment, '\0');
  const std::int64_t rank = spool::rank_of([&](std::string_view name) -> const char* {
    for (const std::string_view entry : entries) {
      if (entry.starts_with(name) && entry.substr(name.size(), 1) == "=")
        return entry.data() + name.size() + 1;
    }
    return nullptr;
  });
  return rank < 0 ? std::nullopt : std::optional(rank);
}

}  // namespace

std::optional<RankedClient> ranked_client(std::uint16_t client_port, std::uint16_t server_port,
                                          pid_t root) {
  const auto table = sys::read_file("/proc/net/tcp");
  const std::string inode = table ? find_inode(*table, client_port, server_port) : std::string();
  if (inode.empty() || inode == "0") return std::nullopt;
  const std::string socket = fmt::format("socket:[{}]", inode);
  std::vector<pid_t> pids = sys::descendants_of(root);
  pids.push_back(root);
  for (const pid_t pid : pids) {
    if (!holds(pid, socket)) continue;
    const auto rank = read_rank(pid);
    return rank ? std::optional(RankedClient{.pid = pid, .rank = *rank}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace corral::run
