#include <fmt/core.h>

#include <string>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kFirst =
    "Nothing is recorded yet. To begin:\n\n"
    "  corral demo            train two small networks and show them\n"
    "  corral run train.py    record a training of yours, or any command\n";
constexpr const char* kNext =
    "\n  corral run train.py    record a training\n"
    "  corral watch @1        show the newest run in this terminal\n"
    "  corral explain @1      say where its time went\n"
    "  corral ls runs         list recorded runs\n";
constexpr const char* kFoot = "  corral --help          list all commands\n";
constexpr int kMostRunning = 5;

Result<> print_overview(const DestinationFlags& flags) {
  const spool::Destination destination = TRY(usable_destination(flags));
  const auto server = connect(flags);
  if (!server && server.error().code == Code::kNotFound &&
      waiting_runs(destination, spool::spool_roots(flags.spool)).empty()) {
    fmt::print("{}", kFirst);
    return {};
  }
  if (!server) return tl::unexpected(server.error());
  const std::string address = TRY(page_address(flags, *server));
  const Json running = TRY(
      get_json(*server, fmt::format("/api/corral/v1/runs?status=running&limit={}", kMostRunning)));
  for (const Json& run : items(running, "runs"))
    fmt::print("running   {}  {}/runs/{}\n", printable(run.get_string("name")), address,
               printable(run.get_string("id")));
  const Json ended = TRY(get_json(*server, "/api/corral/v1/runs?limit=1"));
  if (items(ended, "runs").empty()) {
    fmt::print("{}", kFirst);
    return {};
  }
  const Json& newest = items(ended, "runs").front();
  if (newest.get_string("status") != "running")
    fmt::print("last run  {}, {} after {}; started {}\n", printable(newest.get_string("name")),
               outcome_text(newest), duration_text(member(newest, "duration_s")),
               time_text(member(newest, "start_ns")));
  fmt::print("{}", kNext);
  return {};
}

}  // namespace

int overview_command() {
  DestinationFlags flags;
  Arguments arguments("ls", "", "");
  add_destination(arguments, flags);
  if (const auto status = arguments.parse({})) return *status;
  const auto done = print_overview(flags);
  if (!done) fmt::print(stderr, "corral: {}\n", printable_lines(done.error().message));
  fmt::print("{}", kFoot);
  return done ? kDone : kFailed;
}

}  // namespace corral::cli
