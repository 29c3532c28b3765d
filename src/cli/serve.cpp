#include <fmt/core.h>
#include <signal.h>

#include <cstdio>
#include <thread>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/retention.h"
#include "server/life.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "sys/clock.h"
#include "upload/finisher.h"
#include "upload/server_link.h"

namespace corral::cli {
namespace {

constexpr const char* kExamples =
    "  corral serve                              the default store, at http://127.0.0.1:5000\n"
    "  corral serve --store ./results --listen 127.0.0.1:5050\n"
    "  corral serve --store postgresql://corral@db.lab/corral    any number of servers share it\n"
    "  corral serve --listen 0.0.0.0:5000 --token-file token.txt\n"
    "  corral serve --stop                       ends the store's running server\n";

struct Flags {
  DestinationFlags destination;
  std::string listen;
  std::string read_store;
  RetentionFlags keep;
  std::string durability = "full";
  bool idle_exit = false;
  bool stop = false;
  Nanos idle_after = std::chrono::minutes(15);
};

int failed(const Error& error) {
  fmt::print(stderr, "corral serve: {}\n", error.message);
  return error.code == Code::kInvalidArgument ? kMisuse : kFailed;
}

// Takes over the spools of supervisors that are gone, through the server's own door, for as long as
// the server runs.
server::BackgroundJob finish_left_over_runs(const spool::Destination& destination,
                                            const std::string& spool) {
  // A request of its own each round keeps the server from leaving while a run, however silent, goes
  // on.
  return [destination, roots = spool::spool_roots(spool)](const std::stop_token& stop) {
    constexpr Nanos kRound{std::chrono::seconds(1)};
    constexpr Nanos kSlice{std::chrono::milliseconds(100)};
    upload::Finisher finisher(roots, destination);
    const auto server = upload::http_transport(upload::target_of(destination, ""));
    sys::HttpClient client(upload::target_of(destination, ""));
    while (!stop.stop_requested()) {
      // An error is the server's own and is told to whoever asks it; the next round tries again.
      [[maybe_unused]] const auto done = finisher.step(*server);
      if (finisher.unfinished() > 0) [[maybe_unused]]
        const auto reply = client.send({.path = "/health", .body = {}});
      for (const std::string& problem : finisher.take_problems())
        fmt::print(stderr, "corral serve: {}\n", problem);
      const BootTime until = sys::boot_now() + kRound;
      while (!stop.stop_requested() && sys::boot_now() < until)
        sys::system_clock().sleep_until(sys::boot_now() + kSlice);
    }
  };
}

Result<std::unique_ptr<store::Store>> open_store(const Flags& flags,
                                                 const spool::Destination& destination) {
  if (!destination.database.empty()) {
    store::PostgresOptions options;
    options.url = destination.database;
    options.read_url = flags.read_store;
    options.relaxed = flags.durability == "relaxed";
    return store::open_postgres_store(options);
  }
  if (!flags.read_store.empty()) {
    return fail(
        Code::kInvalidArgument,
        "--read-store names a replica of a database: it goes with --store postgresql://...");
  }
  store::SqliteOptions options;
  options.directory = destination.store;
  options.relaxed = flags.durability == "relaxed";
  return store::open_sqlite_store(options);
}

Result<std::unique_ptr<server::RunningServer>> start(const Flags& flags,
                                                     const spool::Destination& destination) {
  server::ServeOptions options;
  options.store_dir = destination.store;
  options.idle_exit = flags.idle_exit;
  options.idle_after = flags.idle_after;
  if (!flags.listen.empty()) options.listen = TRY(sys::ListenAddress::parse(flags.listen));
  if (!flags.idle_exit && !options.listen)
    options.listen = sys::ListenAddress{.host = "127.0.0.1", .port = limits::kFirstPort};
  if (!flags.destination.token_file.empty()) options.token_file = flags.destination.token_file;
  options.jobs.push_back(finish_left_over_runs(destination, flags.destination.spool));
  server::StoreLock lock = TRY(server::lock_store(destination.store));
  const store::Retention keep = TRY(retention_of(flags.keep));
  auto store = TRY(open_store(flags, destination));
  if (keep.age || keep.bytes) options.jobs.push_back(keep_within(*store, keep));
  return server::start_server(std::move(options), std::move(lock), std::move(store));
}

int serve(const Flags& flags, const spool::Destination& destination) {
  // Blocked before any thread is started, so that only the waiting thread below takes them.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, s);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  auto running = start(flags, destination);
  if (!running && flags.idle_exit && running.error().code == Code::kAlreadyExists) {
    // Two runs that begin at once both start a server: a store that is served is all that either
    // wants.
    fmt::print(stderr, "corral serve: {}\n", running.error().message);
    return kDone;
  }
  if (!running && running.error().code == Code::kAlreadyExists) {
    return failed({Code::kAlreadyExists,
                   running.error().message +
                       ": open that address, or end it with corral serve --stop first"});
  }
  if (!running) return failed(running.error());
  if (!flags.idle_exit) {
    fmt::print("Corral serves {} at {}\nCtrl-C ends it.\n", store_name(destination),
               (*running)->url());
    if ((*running)->is_open_to_others())
      fmt::print(
          "Anyone who reaches this address can read and write: --token-file FILE closes it.\n");
    std::fflush(stdout);
  }
  std::stop_source leave;
  std::jthread waiter([&](const std::stop_token& stop) {
    constexpr timespec kSlice{.tv_sec = 0, .tv_nsec = 200'000'000};
    while (!stop.stop_requested()) {
      const int signal = ::sigtimedwait(&signals, nullptr, &kSlice);
      if (signal == SIGINT || signal == SIGTERM || (signal == SIGHUP && !flags.idle_exit)) {
        leave.request_stop();
        return;
      }
    }
  });
  (*running)->wait(leave.get_token());
  waiter.request_stop();
  (*running)->stop();
  return kDone;
}

}  // namespace

int serve_command(std::span<char* const> args) {
  Flags flags;
  Arguments arguments("serve", "Serves a store: the page, the API, and the data of left-over runs.",
                      kExamples);
  add_destination(arguments, flags.destination);
  arguments.text("listen", flags.listen,
                 "ADDR:PORT (default: 127.0.0.1:5000); a busy port is an error");
  arguments.text("read-store", flags.read_store,
                 "postgresql://... of a replica: charts are read there");
  arguments.choice("durability", flags.durability, {"full", "relaxed"},
                   "full: acknowledged is on the disk (default); relaxed: faster, a power cut may "
                   "take the last moments");
  arguments.flag("idle-exit", flags.idle_exit,
                 "leave after 15 minutes without run, request or open page; take any free port");
  arguments.duration("idle-after", flags.idle_after, "what --idle-exit waits for (default: 15m)");
  arguments.text("keep-days", flags.keep.days, "remove runs that ended more than so many days ago");
  arguments.bytes("keep-bytes", flags.keep.bytes,
                  "remove the oldest runs that ended when the store takes more than this");
  arguments.flag("stop", flags.stop, "end the store's running server");
  if (const auto status = arguments.parse(args)) return *status;
  const auto destination = destination_of(flags.destination);
  if (!destination) return failed(destination.error());
  if (!destination->server.empty())
    return failed(
        {Code::kInvalidArgument, "--server names a server that runs; serve wants --store"});
  if (!flags.stop) return serve(flags, *destination);
  const auto stopped = server::stop_server(destination->store);
  if (!stopped) return failed(stopped.error());
  fmt::print("stopped\n");
  return kDone;
}

}  // namespace corral::cli
