#include "cli/destination.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/help.h"
#include "core/access_token.h"
#include "core/text.h"
#include "sys/process.h"
#include "sys/store_paths.h"
#include "upload/server_link.h"

namespace corral::cli {

namespace fs = spool::fs;

namespace {

// Returns the file that stands where a directory is to be; empty: none does.
fs::path obstacle(const fs::path& directory) {
  std::error_code error;
  fs::path part = directory;
  while (part.has_relative_path() && !fs::exists(part, error)) part = part.parent_path();
  const fs::file_status found = fs::status(part, error);
  return fs::exists(found) && !fs::is_directory(found) ? part : fs::path();
}

std::string owner_name(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "another user";
  const passwd* user = ::getpwuid(info.st_uid);
  return user != nullptr ? fmt::format("user {}", user->pw_name)
                         : fmt::format("user {}", info.st_uid);
}

Result<spool::Destination> named_destination(const DestinationFlags& flags) {
  if (!flags.server.empty() && !flags.store.empty()) {
    return fail(
        Code::kInvalidArgument,
        "--server and --store (or CORRAL_SERVER and CORRAL_STORE) exclude each other: choose one");
  }
  if (!flags.server.empty()) {
    if (!flags.server.starts_with("http://") && !flags.server.starts_with("https://")) {
      return fail(Code::kInvalidArgument,
                  fmt::format("--server {}: expected a URL, e.g. http://host:5000", flags.server));
    }
    std::string url = flags.server;
    while (url.ends_with('/')) url.pop_back();
    return spool::Destination{.store = {}, .server = url};
  }
  if (flags.store == kMemoryStore) {
    return fail(Code::kInvalidArgument,
                "--store :memory: is a running server's own: corral serve --store :memory: starts "
                "one, --server URL names it");
  }
  if (sys::is_database_url(flags.store)) {
    return spool::Destination{
        .store = sys::database_directory(flags.store), .server = {}, .database = flags.store};
  }
  if (flags.store.find("://") != std::string::npos) {
    return fail(Code::kInvalidArgument,
                fmt::format("--store {}: expected a directory or postgresql://user@host/database",
                            sys::without_passwords(flags.store)));
  }
  if (!flags.store.empty())
    return spool::Destination{.store = fs::absolute(flags.store).lexically_normal(), .server = {}};
  const fs::path data = sys::base_directory("XDG_DATA_HOME", ".local/share");
  if (!data.empty()) return spool::Destination{.store = data / "corral", .server = {}};
  return fail(Code::kInvalidArgument,
              "neither $XDG_DATA_HOME nor $HOME is set: say where the store is with --store DIR");
}

// Why there is no store, where data of runs waits for a server of it; empty: none does.
std::string waiting_text(const spool::Destination& destination, const std::string& spool) {
  const auto runs = waiting_runs(destination, spool::spool_roots(spool));
  if (runs.empty()) return {};
  return fmt::format(
      "there is no store at {} yet, but data of {} waits in {}: start `corral serve` to store it",
      destination.store.string(), counted(runs.size(), "run"), runs.back().parent_path().string());
}

}  // namespace

fs::path kept_token_file(std::string_view server) {
  while (server.ends_with('/')) server.remove_suffix(1);
  return sys::base_directory("XDG_CONFIG_HOME", ".config") / "corral" / "tokens" /
         sys::url_encode(server);
}

void add_authorities(Arguments& arguments, std::string& ca_file) {
  arguments.text("ca-file", ca_file,
                 "PEM file of the authority that the server's certificate is from");
}

void add_destination(Arguments& arguments, DestinationFlags& flags) {
  arguments.group(kPlaces);
  arguments.text("store", flags.store,
                 "directory or postgresql://USER@HOST/DB (default: ~/.local/share/corral)");
  arguments.text("server", flags.server, "URL of a running server to use instead of a store");
  arguments.exclusive("store", "server");
  arguments.text("token-file", flags.token_file, "file that holds the server's token");
  arguments.guard_token(flags.token_kept_back);
  add_authorities(arguments, flags.ca_file);
  arguments.then([&flags] {
    if (flags.server.empty() || !flags.token_file.empty() || flags.token_kept_back) return;
    std::error_code error;
    const fs::path kept = kept_token_file(flags.server);
    if (fs::exists(kept, error)) flags.token_file = kept;
  });
  arguments.text("spool", flags.spool,
                 "directory of waiting data (default: ~/.local/state/corral/spool)");
  arguments.group("Options");
}

Result<spool::Destination> parse_destination(const DestinationFlags& flags) {
  spool::Destination destination = TRY(named_destination(flags));
  destination.withheld = flags.withheld;
  if (!flags.ca_file.empty()) destination.ca_file = fs::absolute(flags.ca_file);
  return destination;
}

Result<spool::Destination> usable_destination(const DestinationFlags& flags) {
  spool::Destination destination = TRY(parse_destination(flags));
  const fs::path file = destination.server.empty() && destination.database.empty()
                            ? obstacle(destination.store)
                            : fs::path();
  if (file.empty()) return destination;
  return fail(
      Code::kInvalidArgument,
      fmt::format("--store {}: {}is a file, expected a directory", destination.store.string(),
                  file == destination.store ? "" : file.string() + " "));
}

std::string store_name(const spool::Destination& destination) {
  return destination.database.empty() ? destination.store.string()
                                      : sys::without_passwords(destination.database);
}

std::vector<fs::path> waiting_runs(const spool::Destination& destination,
                                   const std::vector<fs::path>& roots) {
  std::vector<fs::path> runs = spool::find_runs(roots);
  std::erase_if(runs, [&](const fs::path& run) {
    const auto manifest = spool::RunDirectory::read_manifest(run);
    return !manifest || manifest->destination != destination;
  });
  return runs;
}

Result<> find_database(const fs::path& store) {
  const fs::path file = store / "corral.db";
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0) return {};
  if (errno != EACCES)
    return fail(Code::kNotFound,
                fmt::format("there is no store at {} yet; create it with `corral run`, or give "
                            "--store DIR",
                            store.string()));
  // The file, or the directory that lets nobody else look inside.
  fs::path closed = file;
  std::error_code error;
  while (closed.has_relative_path() && !fs::exists(closed, error)) closed = closed.parent_path();
  return fail(Code::kPermission,
              fmt::format("permission denied: {} belongs to {}; --store DIR names another store, "
                          "--server URL a server of this one",
                          closed.string(), owner_name(closed)));
}

Result<std::string> read_token(const DestinationFlags& flags) {
  if (flags.token_file.empty() || !flags.withheld.empty()) return std::string();
  if (flags.token_kept_back) {
    fmt::print(stderr,
               "corral: no token is sent: it was not given for {}, which only ./corral.toml names; "
               "name that in a flag or variable, too\n",
               sys::without_passwords(flags.server.empty() ? flags.store : flags.server));
    return std::string();
  }
  const std::string text = TRY(sys::read_file(flags.token_file, 4096));
  return std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
}

fs::path program_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::string python_program() { return sys::own_variable("CORRAL_PYTHON", "python3"); }

fs::path python_path(const fs::path& program) {
  std::error_code error;
  fs::path folder = program.parent_path() / "python";
  return fs::exists(folder / "corral" / "__init__.py", error) ? folder : fs::path();
}

Result<std::string> python_with_package(std::string_view purpose) {
  const fs::path package = python_path(program_path());
  if (package.empty())
    return fail(
        Code::kNotFound,
        fmt::format("the Python package, which {}, is not where it was installed", purpose));
  const auto python = sys::find_in_path(python_program());
  if (!python)
    return fail(python.error().code,
                fmt::format("{}; it {}: install Python 3, or name one with CORRAL_PYTHON",
                            python.error().message, purpose));
  const std::string others = sys::own_variable("PYTHONPATH");
  const std::string path = package.string() + (others.empty() ? "" : ":" + others);
  ::setenv("PYTHONPATH", path.c_str(), 1);
  return python->string();
}

Result<sys::HttpTarget> connect(const DestinationFlags& flags) {
  const spool::Destination destination = TRY(usable_destination(flags));
  if (destination.server.empty() && destination.database.empty()) {
    auto found = find_database(destination.store);
    if (!found && found.error().code == Code::kNotFound) {
      std::string waits = waiting_text(destination, flags.spool);
      if (!waits.empty()) found.error().message = std::move(waits);
    }
    TRY(std::move(found));
  }
  return connect_or_make(flags);
}

namespace {

// Names the token that the server has refused, and says what to do.
std::string refused_token(const DestinationFlags& flags, const std::string& token) {
  if (flags.token_file == kept_token_file(flags.server))
    return fmt::format(" that was kept: `corral login {}` again", printable(flags.server));
  return " of --token-file " + flags.token_file +
         (is_mistyped_access_token(token) ? ", which is cut or mistyped" : "");
}

}  // namespace

Result<sys::HttpTarget> connect_or_make(const DestinationFlags& flags) {
  const spool::Destination destination = TRY(usable_destination(flags));
  const std::string token = TRY(read_token(flags));
  upload::LinkOptions options{.destination = destination,
                              .token = token,
                              .serve_command = {},
                              .environment = {},
                              .server_log = {}};
  if (destination.server.empty()) {
    upload::start_when_needed(options, program_path().string(), flags.spool);
    const auto root = spool::usable_root(spool::spool_roots(flags.spool));
    options.server_log = (root ? *root : destination.store) / "server.log";
  } else {
    options.answers_in = kServerPatience;  // there is no other to be started
  }
  upload::ServerLink link(options);
  auto connected = link.connect(kServerPatience);
  if (!connected && connected.error().message.starts_with("no server at "))
    connected.error().message += "; start `corral serve` or check --server";
  if (!connected && connected.error().code == Code::kUnauthenticated && !token.empty())
    connected.error().message += refused_token(flags, token);
  TRY(std::move(connected));
  return upload::target_of(destination, token);
}

Error reply_error(int status, std::string_view body) {
  const auto json = Json::parse(body);
  const Json* detail = json ? json->find("error") : nullptr;
  const std::string message = detail != nullptr ? detail->get_string("message")
                                                : fmt::format("the server answered {}", status);
  return {.code = status == 404   ? Code::kNotFound
                  : status == 400 ? Code::kInvalidArgument
                  : status == 401 ? Code::kUnauthenticated
                  : status == 409 ? Code::kConflict
                  : status == 501 ? Code::kUnsupported
                                  : Code::kUnavailable,
          .message = message};
}

Result<std::string> page_address(const DestinationFlags& flags, const sys::HttpTarget& server) {
  if (server.unix_socket.empty()) return sys::without_passwords(server.base_url);
  const auto record = sys::read_server_record(TRY(usable_destination(flags)).store);
  return record ? record->url : std::string();
}

Result<Json> send_json(const sys::HttpTarget& server, const sys::HttpRequest& request) {
  sys::HttpClient client(server);
  const sys::HttpReply reply = TRY(client.send(request));
  if (reply.status != 200) return tl::unexpected(reply_error(reply.status, reply.body));
  return Json::parse(reply.body);
}

Result<Json> get_json(const sys::HttpTarget& server, const std::string& path) {
  return send_json(server, {.path = path, .body = {}});
}

Result<bool> has_run(const sys::HttpTarget& server, RunId run) {
  const auto found = get_json(server, run_path(run.hex()));
  if (found) return true;
  if (found.error().code == Code::kNotFound) return false;
  return tl::unexpected(found.error());
}

std::string run_path(std::string_view run, std::string_view below) {
  return fmt::format("/api/corral/v1/runs/{}{}", sys::url_encode(run), below);
}

}  // namespace corral::cli
