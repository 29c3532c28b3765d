#include <fmt/core.h>
#include <signal.h>

#include <cstdio>
#include <optional>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/ids.h"
#include "core/text.h"
#include "spool/profile_request.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = spool::fs;

constexpr const char* kProfileExamples =
    "  corral profile @1                the next 3 steps of the newest run\n"
    "  corral profile 3f2a --steps 10   ten\n";
constexpr Nanos kPoll{std::chrono::milliseconds(50)};

struct ProfileFlags {
  DestinationFlags destination;
  std::string run;
  std::string steps = "3";
  std::string tool = "torch";
  Nanos wait{std::chrono::minutes(1)};
};

volatile sig_atomic_t interrupted = 0;
void note_interrupt(int /*signal*/) { interrupted = 1; }

// The request, and the supervisor of the run.
struct ProfiledRun {
  spool::ProfileRequest request;
  sys::ProcessIdentity supervisor;
};

std::string run_text(const Json& run) {
  return fmt::format("run {} ({})", printable(run.get_string("name")), run.get_string("id"));
}

// The run's directory in a spool of this host, with its manifest.
Result<std::pair<sys::PrivateDirectory, spool::Manifest>> find_spool(const Json& run,
                                                                     const ProfileFlags& flags) {
  for (const fs::path& root : spool::spool_roots(flags.destination.spool)) {
    const auto spool = sys::PrivateDirectory::open(root);
    auto files = spool ? spool->directory(run.get_string("id")) : spool;
    if (!files && files.error().code == Code::kNotFound) continue;
    if (!files) return tl::unexpected(files.error());
    return std::pair(*files, TRY(spool::RunDirectory::read_manifest(root / run.get_string("id"))));
  }
  return fail(
      Code::kNotFound,
      run_text(run) +
          " has no spool here: another user runs it, or it was started with another --spool "
          "or in another container");
}

Result<ProfiledRun> find_running(const Json& run, const ProfileFlags& flags) {
  if (run.get_string("status") != "running")
    return fail(Code::kConflict, fmt::format("{} has ended: {}", run_text(run), ending_text(run)));
  if (const std::string host = run.get_string("host"); host != sys::host_name())
    return fail(Code::kUnavailable,
                fmt::format("{} runs on {}: profile it there", run_text(run), printable(host)));
  const auto [folder, manifest] = TRY(find_spool(run, flags));
  if (!sys::is_alive(manifest.supervisor))
    return fail(Code::kConflict, run_text(run) + " has lost its `corral run`");
  return ProfiledRun{.request = {folder, make_profile_id("torch", sys::utc_now())},
                     .supervisor = manifest.supervisor};
}

// One line of the answer, said; the exit status once it was the last.
std::optional<int> print_state(const Json& line, const Json& run, const sys::HttpTarget& server) {
  const std::string state = line.get_string("state");
  const std::string steps =
      fmt::format("steps {} to {}", line.get_int("first"), line.get_int("last"));
  if (state == "begun") {
    fmt::print("profiling {} of process {}\n", steps, line.get_int("pid"));
  } else if (state == "saving") {
    fmt::print("saving\n");
  } else if (state == "failed") {
    fmt::print(stderr, "corral profile: {}: {}\n", steps, printable(line.get_string("reason")));
    return kFailed;
  } else if (state == "done") {
    fmt::print("{} of {}: {}\n", steps, run_text(run), line.get_string("artifact"));
    if (server.unix_socket.empty())
      fmt::print("{}/runs/{}\n", sys::without_passwords(server.base_url), run.get_string("id"));
    return kDone;
  }
  std::fflush(stdout);
  return std::nullopt;
}

// Until somebody has taken the request.
Error untaken_error(const ProfileFlags& flags, bool lives) {
  if (interrupted != 0) return {.code = Code::kUnavailable, .message = "interrupted"};
  if (!lives) return {.code = Code::kConflict, .message = "the run has ended meanwhile"};
  return {.code = Code::kUnavailable,
          .message = fmt::format(
              "no step ended within {:g} s (--wait): profiles go from step to step, and no "
              "Python process of this run has any that are seen (docs/profiling.md)",
              seconds(flags.wait))};
}

Result<int> follow(ProfiledRun& asked, const Json& run, const sys::HttpTarget& server,
                   const ProfileFlags& flags) {
  const BootTime deadline = sys::boot_now() + flags.wait;
  bool taken = false;
  for (;;) {
    // Checked before the answer is read, so that the last answer of a run that ends is seen.
    const bool lives = sys::is_alive(asked.supervisor);
    if (const auto line = TRY(asked.request.next())) {
      taken = true;
      if (const auto status = print_state(*line, run, server)) return *status;
      continue;
    }
    const bool enough = interrupted != 0 || !lives;
    if (enough || (!taken && sys::boot_now() >= deadline)) {
      const bool back = asked.request.withdraw();
      if (back || enough) return tl::unexpected(untaken_error(flags, lives));
      taken = true;  // just now
    }
    sys::system_clock().sleep_until(sys::boot_now() + kPoll);
  }
}

Result<int> profile(const ProfileFlags& flags, std::int64_t steps) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const Json run = TRY(get_json(server, run_path(flags.run)));
  ProfiledRun asked = TRY(find_running(run, flags));
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  if (const auto put = asked.request.ask(steps); !put)
    return tl::unexpected(put.error().with_context(run_text(run)));
  fmt::print("asked {}: it begins at the end of a step\n", run_text(run));
  std::fflush(stdout);
  return follow(asked, run, server, flags);
}

}  // namespace

int profile_command(std::span<char* const> args) {
  ProfileFlags flags;
  Arguments arguments(
      "profile",
      "Profiles the next steps of a run on this host with the PyTorch profiler. The "
      "trace becomes an artifact of the run.",
      kProfileExamples);
  arguments.positional("run", flags.run, kRunHelp, true);
  arguments.text("steps", flags.steps, "number of steps, 1 to 1000 (default: 3)");
  arguments.choice("tool", flags.tool, {"torch"},
                   "torch; for nsys and ncu: corral run --profile nsys");
  arguments.duration("wait", flags.wait, "time to wait for the current step to end (default: 1m)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto steps = parse_int(flags.steps);
  if (!steps || *steps < 1 || *steps > kMostProfileSteps) {
    fmt::print(stderr, "corral profile: --steps {}: 1 to {}\n", flags.steps, kMostProfileSteps);
    return kMisuse;
  }
  return finish("profile", profile(flags, *steps));
}

}  // namespace corral::cli
