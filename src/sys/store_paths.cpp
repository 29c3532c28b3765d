#include "sys/store_paths.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "core/json.h"
#include "core/sha256.h"
#include "sys/private_directory.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace corral::sys {
namespace {

fs::path fallback_directory() {
  const std::string runtime = own_variable("XDG_RUNTIME_DIR");
  if (runtime.starts_with('/') && runtime.size() < 64) return runtime;
  return fmt::format("/tmp/corral-{}", ::getuid());
}

std::string short_digest(std::string_view text) { return hex(sha256(text), 8); }

}  // namespace

fs::path socket_path(const fs::path& store_dir) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(fs::absolute(store_dir, error), error);
  if (error) canonical = store_dir;
  if (!canonical.has_filename())
    canonical = canonical.parent_path();  // "dir/" and "dir" are one store
  fs::path inside = canonical / "corral.sock";
  if (inside.native().size() <= kUnixPathBytes) return inside;
  return fallback_directory() / (short_digest(canonical.native()) + ".sock");
}

Result<> prepare_socket_directory(const fs::path& socket) {
  const fs::path directory = socket.parent_path();
  if (directory != fallback_directory()) return {};
  const auto own = directory.native().starts_with("/tmp/corral-")
                       ? PrivateDirectory::make(directory)
                       : PrivateDirectory::open(directory);
  return own ? Result<>() : tl::unexpected(own.error());
}

bool is_database_url(std::string_view store) {
  return store.starts_with("postgresql://") || store.starts_with("postgres://");
}

// Rather too much than too little: a password with an @ or / that should have been %40 or %2F is
// still one.
std::vector<std::pair<std::size_t, std::size_t>> passwords_in(std::string_view url) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return found;
  const std::size_t colon = url.find(':', scheme + 3);
  const std::size_t at = url.rfind('@');
  if (colon != std::string_view::npos && at != std::string_view::npos && colon < at)
    found.emplace_back(colon + 1, at - colon - 1);
  constexpr std::string_view kParameter = "password=";
  for (std::size_t p = url.find(kParameter); p != std::string_view::npos;
       p = url.find(kParameter, p + 1)) {
    if (at != std::string_view::npos && p < at) continue;
    const std::size_t start = p + kParameter.size();
    found.emplace_back(start, std::min(url.find('&', start), url.size()) - start);
  }
  return found;
}

std::string without_passwords(std::string_view url) {
  std::string text(url);
  const auto passwords = passwords_in(url);
  for (std::size_t i = passwords.size(); i-- > 0;)
    text.erase(passwords[i].first, passwords[i].second);
  // "user:@host" is "user@host".
  const std::size_t empty = text.find(":@");
  if (empty != std::string::npos) text.erase(empty, 1);
  return text;
}

fs::path base_directory(const char* variable, const char* below_home) {
  const std::string chosen = own_variable(variable);
  if (chosen.starts_with('/')) return chosen;
  const std::string home = own_variable("HOME");
  return home.starts_with('/') ? fs::path(home) / below_home : fs::path();
}

fs::path database_directory(std::string_view url) {
  fs::path root = base_directory("XDG_STATE_HOME", ".local/state");
  if (root.empty()) root = fmt::format("/var/tmp/corral-{}", ::geteuid());
  return root / "corral" / "databases" / short_digest(without_passwords(url));
}

fs::path server_lock_path(const fs::path& store_dir) { return store_dir / "server.lock"; }
fs::path server_record_path(const fs::path& store_dir) { return store_dir / "server.json"; }
fs::path server_port_path(const fs::path& store_dir) { return store_dir / "port"; }

std::optional<ServerRecord> read_server_record(const fs::path& store_dir) {
  const Result<std::string> text = read_file(server_record_path(store_dir), 64u << 10);
  if (!text) return std::nullopt;
  const Result<Json> json = Json::parse(*text);
  if (!json || json->get_int("pid") <= 0) return std::nullopt;
  return ServerRecord{.pid = json->get_int("pid"),
                      .url = json->get_string("url"),
                      .socket = json->get_string("socket"),
                      .started = utc_time(json->get_int("started_ns")),
                      .version = json->get_string("version")};
}

Result<> write_server_record(const fs::path& store_dir, const ServerRecord& record) {
  std::string text;
  JsonWriter json(text);
  json.begin_object()
      .member("pid", record.pid)
      .member("url", record.url)
      .member("socket", record.socket);
  json.key("started_ns").value_string(ns_of(record.started));
  json.member("version", record.version).end_object();
  return replace_file(server_record_path(store_dir), text + "\n", 0600);
}

std::optional<ServerRecord> find_server(const fs::path& store_dir) {
  const fs::path socket = socket_path(store_dir);
  if (!connect_unix(socket)) return std::nullopt;
  ServerRecord record = read_server_record(store_dir).value_or(ServerRecord{});
  record.socket = socket.string();
  return record;
}

}  // namespace corral::sys
