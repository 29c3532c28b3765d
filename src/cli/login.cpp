// corral login and logout: keep the token of a server, so that commands need only its address.
#include <fmt/core.h>

#include <iostream>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/access_token.h"
#include "core/text.h"
#include "sys/http_client.h"
#include "sys/private_directory.h"

namespace corral::cli {
namespace {

namespace fs = spool::fs;

constexpr const char* kMe = "/api/corral/v1/me";
constexpr const char* kLoginExamples =
    "  corral login http://lab:5000                           asks for the token\n"
    "  corral login http://lab:5000 --token-file ada.token\n";

Result<int> log_in(const std::string& server, const std::string& token_file,
                   const std::string& ca_file) {
  std::string token;
  if (!token_file.empty()) {
    token = TRY(sys::read_file(token_file, 4096));
  } else if (at_terminal()) {
    token = TRY(ask_secret("Your token of " + server));
  } else {
    std::getline(std::cin, token);
  }
  token = trim(std::string_view(token).substr(0, token.find('\n')));
  if (token.empty()) return fail(Code::kInvalidArgument, "no token was given");
  if (is_mistyped_access_token(token))
    return fail(Code::kInvalidArgument, "this token is cut or mistyped");
  sys::HttpTarget target{.base_url = server, .unix_socket = {}, .token = {}, .ca_file = ca_file};
  if (get_json(target, kMe)) return fail(Code::kInvalidArgument, "this server asks for no token");
  target.token = token;
  Result<Json> answer = get_json(target, kMe);
  if (!answer && answer.error().code == Code::kUnauthenticated)
    answer.error().message = "the server refused this token: it is expired, revoked or not its own";
  const Json me = TRY(std::move(answer));
  const fs::path file = kept_token_file(server);
  const auto kept = TRY(sys::PrivateDirectory::make(file.parent_path()));
  TRY(kept.replace_file(file.filename(), token + "\n"));
  const std::string user = me.get_string("user");
  fmt::print(
      "{}: {}\nkept for you in {}\n", printable(server),
      user.empty() ? "its token is right" : fmt::format("{}, {}", user, me.get_string("role")),
      file.string());
  return kDone;
}

Result<int> log_out(const std::string& server) {
  const fs::path file = kept_token_file(server);
  const auto kept = sys::PrivateDirectory::open(file.parent_path());
  if (!kept || !kept->remove(file.filename()))
    return fail(Code::kNotFound, fmt::format("no token of {} is kept here", printable(server)));
  fmt::print(
      "forgot the token of {}; it still counts until it expires or `corral token rm` revokes it\n",
      printable(server));
  return kDone;
}

// Returns the address without its last slashes; empty, with a message: it is none.
std::string address_of(std::string_view command, std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.starts_with("http://") || text.starts_with("https://")) return std::string(text);
  fmt::print(stderr, "corral {}: expected an address, e.g. http://lab:5000, not '{}'\n", command,
             printable(text));
  return {};
}

}  // namespace

int login_command(std::span<char* const> args) {
  std::string server, token_file, ca_file;
  Arguments arguments("login",
                      "Keeps your token of a server in a file of mode 0600. From then on commands "
                      "with --server URL need no --token-file.",
                      kLoginExamples);
  arguments.positional("url", server, "address of the server", true);
  arguments.text("token-file", token_file, "file that holds the token (default: ask)");
  arguments.as_flag_only("token-file");
  add_authorities(arguments, ca_file);
  if (const auto status = arguments.parse(args)) return *status;
  const std::string address = address_of("login", server);
  return address.empty() ? kMisuse : finish("login", log_in(address, token_file, ca_file));
}

int logout_command(std::span<char* const> args) {
  std::string server;
  Arguments arguments("logout", "Deletes the token that `corral login` kept of a server.",
                      "  corral logout http://lab:5000\n");
  arguments.positional("url", server, "address of the server", true);
  if (const auto status = arguments.parse(args)) return *status;
  const std::string address = address_of("logout", server);
  return address.empty() ? kMisuse : finish("logout", log_out(address));
}

}  // namespace corral::cli
