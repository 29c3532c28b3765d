// corral login and logout: keep the token of a server, so that commands need only its address.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iostream>
#include <thread>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/access_token.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/http_client.h"
#include "sys/private_directory.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = spool::fs;

constexpr const char* kMe = "/api/corral/v1/me";
constexpr std::chrono::seconds kAskAgain{2};
constexpr std::chrono::minutes kLongest{10};
constexpr const char* kLoginExamples =
    "  corral login http://lab:5000                           asks for the token\n"
    "  corral login http://lab:5000 --browser                 asks where you are signed in\n"
    "  corral login http://lab:5000 --token-file ada.token\n";

struct Login {
  std::string server, token_file, ca_file;
  bool browser = false;
};

// The token of this file or of standard input; empty: somebody at the terminal entered none.
Result<std::string> given_token(const Login& login) {
  std::string token;
  if (!login.token_file.empty()) {
    token = TRY(sys::read_file(login.token_file, 4096));
  } else if (at_terminal()) {
    token =
        TRY(ask_secret("Your token of " + login.server + " (Enter alone: sign in by a browser)"));
    if (trim(token).empty()) return "";
  } else {
    std::getline(std::cin, token);
  }
  token = trim(std::string_view(token).substr(0, token.find('\n')));
  if (token.empty())
    return fail(Code::kInvalidArgument, "no token was given: --token-file FILE, or --browser");
  if (is_mistyped_access_token(token))
    return fail(Code::kInvalidArgument, "this token is cut or mistyped");
  return token;
}

// This machine, in the letters that the server takes.
std::string client_name() {
  std::string name = sys::host_name().substr(0, 64);
  std::ranges::replace_if(
      name,
      [](char c) {
        return c != '.' && c != '-' && std::isalnum(static_cast<unsigned char>(c)) == 0;
      },
      '_');
  return name.empty() ? "unknown" : name;
}

// The token that a user lets this program have, who is signed in at a browser anywhere.
Result<std::string> token_by_browser(const sys::HttpTarget& server) {
  const auto post = [&](const char* path, const char* name, const std::string& value) {
    std::string body;
    JsonWriter(body).begin_object().member(name, value).end_object();
    return send_json(server, {.method = "POST", .path = path, .body = body});
  };
  Result<Json> begun = post("/api/corral/v1/device-codes", "client", client_name());
  if (!begun && begun.error().code == Code::kUnauthenticated)
    begun.error().message =
        "at this address nobody is let in by a browser: give its token by --token-file";
  const Json asked = TRY(std::move(begun));
  fmt::print(stderr,
             "Open  {}/device  where you are signed in, and enter  {}\n"
             "Waiting up to 10 minutes; Ctrl-C ends it.\n",
             printable(sys::without_passwords(server.base_url)),
             printable(asked.get_string("code")));
  const std::string secret = asked.get_string("device_code");
  const BootTime until = sys::boot_now() + kLongest;
  while (sys::boot_now() < until) {
    std::this_thread::sleep_for(kAskAgain);
    Result<Json> polled = post("/api/corral/v1/device-tokens", "device_code", secret);
    // A server that is started anew, or busy.
    if (!polled && polled.error().code == Code::kUnavailable) continue;
    const Json answer = TRY(std::move(polled));
    const std::string state = answer.get_string("state");
    if (state == "allowed") return answer.get_string("token");
    if (state == "refused") return fail(Code::kPermission, "it was refused in the browser");
  }
  return fail(Code::kUnavailable, "nobody answered within 10 minutes");
}

Result<int> log_in(const Login& login) {
  const std::string& server = login.server;
  sys::HttpTarget target{
      .base_url = server, .unix_socket = {}, .token = {}, .ca_file = login.ca_file};
  std::string token = login.browser ? "" : TRY(given_token(login));
  if (get_json(target, kMe)) return fail(Code::kInvalidArgument, "this server asks for no token");
  const fs::path file = kept_token_file(server);
  const auto kept = TRY(sys::PrivateDirectory::make(file.parent_path()));
  const auto keep = [&] { return kept.replace_file(file.filename(), token + "\n"); };
  if (token.empty()) {
    token = TRY(token_by_browser(target));
    TRY(keep());  // nobody gets it a second time
  }
  target.token = token;
  Result<Json> answer = get_json(target, kMe);
  if (!answer && answer.error().code == Code::kUnauthenticated)
    answer.error().message = "the server refused this token: it is expired, revoked or not its own";
  const Json me = TRY(std::move(answer));
  TRY(keep());
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
  Login login;
  Arguments arguments("login",
                      "Keeps your token of a server in a file of mode 0600. From then on commands "
                      "with --server URL need no --token-file.",
                      kLoginExamples);
  arguments.positional("url", login.server, "address of the server", true);
  arguments.text("token-file", login.token_file, "file that holds the token (default: ask)");
  arguments.as_flag_only("token-file");
  arguments.flag("browser", login.browser, "enter a code where you are signed in already");
  arguments.as_flag_only("browser");
  add_authorities(arguments, login.ca_file);
  if (const auto status = arguments.parse(args)) return *status;
  if (login.browser && !login.token_file.empty()) {
    fmt::print(stderr, "corral login: --browser or --token-file, not both\n");
    return kMisuse;
  }
  login.server = address_of("login", login.server);
  return login.server.empty() ? kMisuse : finish("login", log_in(login));
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
