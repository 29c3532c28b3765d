#include "cli/spool.h"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/store_paths.h"
#include "upload/finisher.h"
#include "upload/server_link.h"

namespace corral::cli {
namespace {

constexpr Nanos kPause{std::chrono::milliseconds(100)};

constexpr const char* kHead =
    "Manages data of runs that waits on this host for its server (docs/ranks.md).\n\n"
    "Usage: corral spool VERB [OPTIONS]\n\n";
constexpr const char* kFoot =
    "\nExamples:\n"
    "  corral spool send --timeout 60s\n"
    "\ncorral spool VERB --help shows the options.\n";
constexpr const char* kSendExamples =
    "  corral spool send                            what waits for the usual server\n"
    "  corral spool send --server https://lab:5000  what waits for this one\n"
    "  corral spool send --user ada --timeout 60s   another user's, as root\n";

// Runs of this destination that no supervisor brings there itself.
std::size_t count_left(const spool::Destination& destination,
                       const std::vector<spool::fs::path>& roots) {
  const auto runs = waiting_runs(destination, roots);
  return static_cast<std::size_t>(std::ranges::count_if(runs, [](const spool::fs::path& run) {
    const auto manifest = spool::RunDirectory::read_manifest(run);
    std::error_code error;
    // Without segments only refused data is left, which is kept here.
    return manifest && !sys::is_alive(manifest->supervisor) &&
           spool::fs::exists(run / spool::kSegments, error);
  }));
}

// Makes this process one of that user, with the user's home and nothing of root's. Nothing of the
// user's was opened before.
Result<> become(const std::string& name) {
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) return fail(Code::kNotFound, "there is no user " + name);
  if (user->pw_uid == ::geteuid()) return {};
  if (::geteuid() != 0)
    return fail(Code::kPermission, "--user " + name + ": only root can send another user's data");
  const std::string home = user->pw_dir;
  if (::initgroups(name.c_str(), user->pw_gid) != 0 || ::setgid(user->pw_gid) != 0 ||
      ::setuid(user->pw_uid) != 0)
    return fail_errno("becoming the user " + name, errno);
  for (const std::string& entry : sys::own_environment()) {
    if (entry.starts_with("XDG_") || entry.starts_with("CORRAL_"))
      ::unsetenv(entry.substr(0, entry.find('=')).c_str());
  }
  ::setenv("HOME", home.c_str(), 1);
  return ::chdir("/") == 0 ? Result<>() : fail_errno("/", errno);
}

// The user counts before the other options: their defaults stand in the user's configuration.
std::string user_in(std::span<char* const> args) {
  std::string user;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    if (word == "--user" && i + 1 < args.size()) user = args[i + 1];
    if (word.starts_with("--user=")) user = word.substr(std::string_view("--user=").size());
  }
  return user;
}

Result<int> send(const DestinationFlags& flags, Nanos patience) {
  const Sent sent = TRY(send_waiting(flags, patience));
  if (sent.runs == 0) {
    fmt::print("nothing waits for {}\n", printable(sent.to));
  } else if (sent.left == 0) {
    fmt::print("{} reached {}\n", counted(sent.runs, "waiting run"), printable(sent.to));
  } else {
    complain("spool send", fmt::format("{} of {} still wait for {}: the time is over", sent.left,
                                       counted(sent.runs, "run"), printable(sent.to)));
    return kFailed;
  }
  return kDone;
}

int send_command(std::span<char* const> args) {
  DestinationFlags flags;
  std::string user = user_in(args);
  if (!user.empty()) {
    if (const auto become_it = become(user); !become_it)
      return report("spool send", become_it.error());
  }
  Nanos patience = std::chrono::minutes(1);
  Arguments arguments("spool send",
                      "Sends data of runs that waits on this host because their supervisor was "
                      "killed, as by the end of a job.",
                      kSendExamples);
  arguments.text("user", user, "send this user's, as that user; for root");
  arguments.duration("timeout", patience, "time for all of it (default: 1m)");
  for (const char* name : {"user", "timeout"}) arguments.as_flag_only(name);
  add_destination(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("spool send", send(flags, patience));
}

constexpr Verb kVerbs[] = {{"send", "send it now", send_command}};

}  // namespace

Result<Sent> send_waiting(const DestinationFlags& flags, Nanos patience) {
  const BootTime until = sys::boot_now() + patience;
  const spool::Destination destination = TRY(usable_destination(flags));
  const auto roots = spool::spool_roots(flags.spool);
  Sent sent{.runs = count_left(destination, roots),
            .to = destination.server.empty() ? store_name(destination)
                                             : sys::without_passwords(destination.server)};
  if (sent.runs == 0) return sent;
  upload::LinkOptions options{.destination = destination,
                              .token = TRY(read_token(flags)),
                              .serve_command = {},
                              .environment = {},
                              .server_log = TRY(spool::usable_root(roots)) / "server.log"};
  upload::start_when_needed(options, program_path().string(), flags.spool);
  if (!destination.server.empty()) options.answers_in = kServerPatience;
  upload::ServerLink link(options);
  upload::Transport* server = TRY(link.connect(kServerPatience));
  upload::Finisher finisher(roots, destination);
  do {
    // A store's server takes waiting data out of the spool by itself.
    if (!destination.server.empty()) TRY(finisher.step(*server));
    for (const std::string& problem : finisher.take_problems()) complain("spool", problem);
    sent.left = count_left(destination, roots);
    if (sent.left > 0) sys::system_clock().sleep_until(sys::boot_now() + kPause);
  } while (sent.left > 0 && sys::boot_now() < until);
  return sent;
}

int spool_command(std::span<char* const> args) {
  return call_verb({.name = "corral spool", .head = kHead, .foot = kFoot, .verbs = kVerbs}, args);
}

}  // namespace corral::cli
