#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/table.h"
#include "cli/thumbnail.h"
#include "core/limits.h"
#include "core/result.h"
#include "core/text.h"
#include "run/command.h"
#include "run/tracking.h"
#include "server/life.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/private_directory.h"
#include "sys/service_manager.h"
#include "sys/store_paths.h"
#include "sys/thread_guard.h"
#include "upload/finisher.h"
#include "upload/server_link.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

// The directory of `corral serve --store :memory:`, which goes with its server.
//
// An embedded store needs files, because SQLite's databases in memory have neither snapshots per
// connection nor a shared log. Its files lie in /dev/shm, which is memory, or among the temporary
// files if /dev/shm is missing or has little room (containers give it 64 MiB). A server that is
// killed leaves its files behind; the next such server removes them.
struct MemoryStore {
  fs::path path{};  // empty: none

  MemoryStore() = default;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

// Enough for a test suite or an afternoon; less would be full too soon to be useful.
constexpr std::uintmax_t kRoomBytes = 1u << 30;
constexpr std::string_view kPrefix = "corral-memory-";
constexpr std::chrono::minutes kStarting{1};

fs::path memory_directory() {
  std::error_code error;
  fs::path shared = "/dev/shm";
  const fs::space_info room = fs::space(shared, error);
  if (!error && room.available >= kRoomBytes && ::access(shared.c_str(), W_OK) == 0) return shared;
  return fs::temp_directory_path(error);
}

// Removes directories of this user's dead servers: nobody holds their lock. One that was made just
// now may not be locked yet.
void remove_left_over(const fs::path& where) {
  const std::string mine = fmt::format("{}{}-", kPrefix, ::getuid());
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const auto age = fs::file_time_type::clock::now() - entry->last_write_time(gone);
    if (!gone && age > kStarting && entry->path().filename().string().starts_with(mine))
      found.push_back(entry->path());
  }
  for (const fs::path& directory : found) {
    // Others can make directories of that name, too.
    const auto own = sys::PrivateDirectory::open(directory);
    const std::string lock = sys::server_lock_path(directory).filename();
    // One without a lock is about to be a server's.
    if (own && own->exists(lock) && own->try_lock_file(lock)) fs::remove_all(directory, error);
  }
}

// Makes the directory, with mode 0700.
Result<fs::path> make_memory_store() {
  const fs::path where = memory_directory();
  remove_left_over(where);
  std::string name = (where / fmt::format("{}{}-XXXXXX", kPrefix, ::getuid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(Code::kIo, fmt::format("--store :memory: needs room for files in {}: {}",
                                       where.string(), std::generic_category().message(errno)));
  }
  return name;
}

// `corral serve --keep-days N --keep-bytes SIZE`.
struct RetentionFlags {
  std::string days;
  std::int64_t bytes = 0;  // 0: no limit
};

constexpr std::chrono::hours kEvery{1};
constexpr std::int64_t kMostDays = 36'500;

void report_removal(const Result<store::Removal>& removal, const std::string& kind) {
  if (!removal) {
    complain("serve", fmt::format("removing {}s: {}", kind, removal.error().message));
    return;
  }
  if (removal->runs.empty()) return;
  fmt::print(stderr, "corral serve: removed {}: {} points, {}\n",
             counted(removal->runs.size(), kind), removal->points,
             with_unit(static_cast<double>(removal->bytes), "B"));
  for (const RunId& run : removal->runs) fmt::print(stderr, "  {}\n", run.hex());
}

// Neither age nor bytes: nothing is to be removed.
Result<store::Retention> parse_retention(const RetentionFlags& flags) {
  store::Retention retention;
  if (!flags.days.empty()) {
    const auto days = parse_int(flags.days);
    if (!days || *days < 1 || *days > kMostDays) {
      return fail(Code::kInvalidArgument,
                  fmt::format("--keep-days: expected a number of days from 1 to {}, not '{}'",
                              kMostDays, flags.days));
    }
    retention.age = std::chrono::hours(24) * *days;
  }
  if (flags.bytes > 0) retention.bytes = flags.bytes;
  return retention;
}

// Prunes and empties the trash, at once and then every hour, and reports removed runs on stderr.
// The store must outlive the job.
server::BackgroundJob retention_job(store::Store& store, const store::Retention& retention) {
  return [&store, retention](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      report_removal(store.empty_trash(sys::utc_now()), "trashed run");
      if (retention.age || retention.bytes)
        report_removal(store.prune(retention, sys::utc_now(), false), "old run");
      wake.wait_for(lock, stop, kEvery, [] { return false; });
    }
  };
}

constexpr const char* kServeExamples =
    "  corral serve                              the default store, at http://127.0.0.1:5000\n"
    "  corral serve --store ./results --listen 127.0.0.1:5050\n"
    "  corral serve --store postgresql://corral@db.lab/corral    shared by many servers\n"
    "  corral serve --listen 0.0.0.0:5000 --token-file token.txt\n"
    "  corral serve --listen 0.0.0.0:5000 --auth users --tls-cert lab.pem --tls-key lab.key\n"
    "  corral serve --store :memory:             in memory, gone when it ends\n"
    "  corral serve --stop                       stop the store's running server\n";

struct ServeFlags {
  DestinationFlags destination;
  std::string listen;
  std::string read_store;
  std::string artifacts;
  RetentionFlags keep;
  std::string durability = "full";
  bool idle_exit = false;
  bool stop = false;
  bool insecure = false;
  bool in_memory = false;
  std::string auth;
  std::string oidc_issuer;
  std::string oidc_client;
  std::string oidc_secret_file;
  std::string oidc_role = "none";
  std::string oidc_groups = "groups";
  std::vector<std::string> oidc_domains;
  std::string alert_url;
  std::vector<std::string> alert_networks;
  std::vector<std::string> mail_domains;
  std::string mail_server;
  std::string mail_from;
  std::string mail_user;
  std::string mail_password_file;
  std::string tls_certificate;
  std::string tls_key;
  std::string redirect_http;
  std::vector<std::string> proxies;
  std::vector<std::string> allow_hosts;
  std::string access_log;
  std::string audit_log;
  std::int64_t max_memory = static_cast<std::int64_t>(limits::kBodyMemory);
  Nanos idle_after = std::chrono::minutes(15);
};

// Takes over the spools of supervisors that are gone, through the server's own door, for as long as
// the server runs.
server::BackgroundJob finish_left_over_runs(const spool::Destination& destination,
                                            const std::string& spool) {
  // A request of its own each round keeps the server from leaving while a run, however silent, goes
  // on.
  return [destination, roots = spool::spool_roots(spool)](const std::stop_token& stop) {
    constexpr Nanos kRound{std::chrono::seconds(1)};
    const sys::HttpTarget target = upload::target_of(destination, "");
    run::Delivery delivery;
    const auto page = [store = destination.store] {
      const auto record = sys::read_server_record(store);
      return record ? record->url : std::string();
    };
    upload::Finisher finisher(
        roots, destination,
        run::tracking_takeover({.target = target, .page = page, .delivery = delivery}),
        run::container_end);
    // Closes before the finisher ends, so that waiting threads do not hold it up.
    const struct Closing {
      run::Delivery& delivery;
      ~Closing() { delivery.close(); }
    } closing{delivery};
    const auto server = upload::http_transport(target);
    sys::HttpClient client(target);
    while (!stop.stop_requested()) {
      [[maybe_unused]] const bool doubted = delivery.begin();
      const auto done = finisher.step(*server);
      // The server reports the error to the client that asks; the next round tries again.
      delivery.end(done ? Result<bool>(true) : tl::unexpected(done.error()));
      if (finisher.unfinished() > 0) [[maybe_unused]]
        const auto reply = client.send({.path = "/health", .body = {}});
      for (const std::string& problem : finisher.take_problems()) complain("serve", problem);
      delivery.pause(stop, kRound);
    }
  };
}

Result<std::unique_ptr<store::Store>> open_store(const ServeFlags& flags,
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
  options.lock = sys::server_lock_path(destination.store);
  options.relaxed = flags.durability == "relaxed";
  return store::open_sqlite_store(options);
}

// Tells the service manager that the server answers, as often as it wants to be told.
server::BackgroundJob watchdog_job(const fs::path& store, Nanos interval) {
  return [store, pause = interval / 3](const std::stop_token& stop) {
    sys::HttpClient client({.base_url = "http://localhost",
                            .unix_socket = sys::socket_path(store).string(),
                            .token = {}});
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
      const auto reply = client.send({.path = "/health", .body = {}, .timeout = pause});
      if (reply && reply->status == 200) sys::tell_service_manager("WATCHDOG=1");
    }
  };
}

// HTTPS, and what stands in front of the server.
Result<> parse_front(const ServeFlags& flags, server::ServeOptions& options) {
  if (flags.tls_certificate.empty() != flags.tls_key.empty())
    return fail(Code::kInvalidArgument, "--tls-cert and --tls-key go together");
  if (!flags.tls_key.empty())
    options.tls = {.certificate = flags.tls_certificate, .key = flags.tls_key};
  if (!flags.redirect_http.empty())
    options.redirect_http = TRY(sys::ListenAddress::parse(flags.redirect_http));
  for (const std::string& proxy : flags.proxies) {
    Result<http::Network> network = http::Network::parse(proxy);
    if (!network) return tl::unexpected(network.error().with_context("--behind-proxy"));
    options.http.proxies.push_back(*network);
  }
  return {};
}

Result<std::optional<server::SignInOptions>> parse_sign_ins(const ServeFlags& flags) {
  const bool given = !flags.oidc_client.empty() || !flags.oidc_secret_file.empty() ||
                     flags.oidc_role != "none" || !flags.oidc_domains.empty() ||
                     flags.oidc_groups != "groups";
  if (flags.oidc_issuer.empty() != flags.oidc_client.empty() ||
      (flags.oidc_issuer.empty() && given)) {
    return fail(Code::kInvalidArgument,
                "a provider of sign-in needs both --oidc-issuer and --oidc-client");
  }
  if (flags.oidc_issuer.empty()) return std::nullopt;
  if (!flags.oidc_domains.empty() && flags.oidc_role == "none")
    return fail(Code::kInvalidArgument,
                "--oidc-domain is for new people: it goes with --oidc-role reader or writer");
  server::SignInOptions options{.issuer = flags.oidc_issuer,
                                .client = flags.oidc_client,
                                .ca_file = flags.destination.ca_file,
                                .groups = flags.oidc_groups,
                                .domains = flags.oidc_domains};
  if (!flags.oidc_secret_file.empty()) options.secret_file = flags.oidc_secret_file;
  if (flags.oidc_role == "reader") options.newcomers = Role::kReader;
  if (flags.oidc_role == "writer") options.newcomers = Role::kWriter;
  return options;
}

Result<server::AlertOptions> parse_mail(const ServeFlags& flags, server::AlertOptions options) {
  const bool any = !flags.mail_from.empty() || !flags.mail_user.empty() ||
                   !flags.mail_password_file.empty() || !flags.mail_domains.empty();
  if (flags.mail_server.empty() != flags.mail_from.empty() || (flags.mail_server.empty() && any) ||
      flags.mail_user.empty() != flags.mail_password_file.empty())
    return fail(Code::kInvalidArgument,
                "mail needs both --mail-server and --mail-from; --mail-user goes with "
                "--mail-password-file");
  if (flags.mail_server.empty()) return options;
  const std::size_t scheme = flags.mail_server.find("://");
  const std::string name = flags.mail_server.substr(0, scheme);
  if ((name != "smtp" && name != "smtps") ||
      flags.mail_server.find_first_of("/@?#", scheme + 3) != std::string::npos)
    return fail(Code::kInvalidArgument,
                "--mail-server: expected smtp://HOST:PORT or smtps://HOST:PORT (--mail-user and "
                "--mail-password-file sign in)");
  if (!sys::is_mail_address(flags.mail_from))
    return fail(Code::kInvalidArgument, "--mail-from: expected an address, as corral@lab.org");
  options.mail = {.url = flags.mail_server, .user = flags.mail_user, .from = flags.mail_from};
  if (!flags.mail_password_file.empty()) options.mail_password_file = flags.mail_password_file;
  options.mail_domains = flags.mail_domains;
  if (options.mail_domains.empty())
    options.mail_domains = {flags.mail_from.substr(flags.mail_from.find('@') + 1)};
  for (std::string& domain : options.mail_domains) domain = lower_ascii(domain);
  return options;
}

Result<server::AlertOptions> parse_alerts(const ServeFlags& flags) {
  server::AlertOptions options{.url = flags.alert_url};
  while (options.url.ends_with('/')) options.url.pop_back();
  if (!options.url.empty() && !options.url.starts_with("http"))
    return fail(Code::kInvalidArgument, "--alert-url: expected an address, as https://server.lab");
  for (const std::string& text : flags.alert_networks) {
    Result<http::Network> network = http::Network::parse(text);
    if (!network) return tl::unexpected(network.error().with_context("--alert-network"));
    options.networks.push_back(*network);
  }
  return parse_mail(flags, std::move(options));
}

Result<std::unique_ptr<server::RunningServer>> start_serving(
    const ServeFlags& flags, const spool::Destination& destination) {
  server::ServeOptions options;
  options.store_dir = destination.store;
  options.idle_exit = flags.idle_exit;
  options.idle_after = flags.idle_after;
  if (!flags.listen.empty()) options.listen = TRY(sys::ListenAddress::parse(flags.listen));
  if (!flags.idle_exit && !options.listen)
    options.listen = sys::ListenAddress{.host = "127.0.0.1", .port = limits::kFirstPort};
  TRY(parse_front(flags, options));
  if (!flags.destination.token_file.empty()) options.token_file = flags.destination.token_file;
  if (!flags.auth.empty()) options.users = flags.auth == "users";
  options.sign_ins = TRY(parse_sign_ins(flags));
  options.alerts = TRY(parse_alerts(flags));
  options.artifacts = flags.artifacts;
  options.make_thumbnail = thumbnail_of;
  options.insecure = flags.insecure;
  options.allow_hosts = flags.allow_hosts;
  if (!flags.access_log.empty()) options.access_log = flags.access_log;
  if (!flags.audit_log.empty()) options.audit_log = flags.audit_log;
  if (flags.max_memory < static_cast<std::int64_t>(limits::kBodyBytes)) {
    return fail(Code::kInvalidArgument,
                fmt::format("--max-memory must be at least {} MiB: one whole request body must fit",
                            limits::kBodyBytes >> 20));
  }
  options.http.body_memory = static_cast<std::size_t>(flags.max_memory);
  options.http.json_memory = options.http.body_memory;
  options.complain = [](std::string_view what) { complain("serve", what); };
  TRY(server::check_exposure(options));
  options.jobs.push_back(finish_left_over_runs(destination, flags.destination.spool));
  if (const auto interval = sys::watchdog_interval(); interval && !flags.idle_exit)
    options.jobs.push_back(watchdog_job(destination.store, *interval));
  server::StoreLock lock = TRY(server::lock_store(destination.store));
  const store::Retention keep = TRY(parse_retention(flags.keep));
  auto store = TRY(open_store(flags, destination));
  options.jobs.push_back(retention_job(*store, keep));
  // A supervisor's own server would let its user in as the owner of the socket, by the password of
  // the database alone.
  options.refuse_users = flags.idle_exit && !destination.database.empty();
  return server::start_server(std::move(options), std::move(lock), std::move(store));
}

// Connections, the store's and everyone's files: more than the 1,024 that a shell gives by default.
void allow_many_files() {
  constexpr rlim_t kEnough = 8192;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kEnough) return;
  files.rlim_cur = std::min(kEnough, files.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// Without a terminal that could be closed, SIGHUP means what it means to other services.
bool has_terminal() { return sys::Fd(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)).valid(); }

Result<int> serve_store(const ServeFlags& flags, const spool::Destination& destination) {
  // Blocked before any thread is started, so that only the waiting thread below takes them.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, s);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  allow_many_files();
  auto running = start_serving(flags, destination);
  if (!running && flags.idle_exit && running.error().code == Code::kAlreadyExists) {
    // Two runs that begin at once both start a server. Both only need the store to be served.
    complain("serve", running.error().message);
    return kDone;
  }
  if (!running && running.error().code == Code::kAlreadyExists)
    running.error().message += ": open that address, or end it with corral serve --stop first";
  if (!running) return tl::unexpected(running.error());
  if (!flags.idle_exit) {
    fmt::print("Corral serves {} at {}\nCtrl-C ends it.\n", store_name(destination),
               (*running)->url());
    if (flags.in_memory)
      fmt::print("--store :memory:: nothing is kept, the store goes with this server.\n");
    if ((*running)->is_open_to_others())
      fmt::print("--insecure: whoever reaches this address can read and write.\n");
    if ((*running)->accounts().required())
      fmt::print("{}", (*running)->accounts().has_users()
                           ? "Only its users get in; `corral user ls` lists them.\n"
                           : "There are no users yet: make the first one by `corral user add NAME "
                             "--role admin`.\n");
    if (!flags.oidc_issuer.empty())
      fmt::print(
          "They sign in at {}, which must know the address {}/auth/callback, with the name\n"
          "that browsers use for this server.\n",
          flags.oidc_issuer, (*running)->url());
    std::fflush(stdout);
  }
  const bool hangup_renews = !has_terminal();
  std::stop_source leave;
  // A run's own server is no service, even where the run itself is one.
  const auto tell = [&](std::string_view state) {
    if (!flags.idle_exit) sys::tell_service_manager(state);
  };
  tell(fmt::format("READY=1\nSTATUS=Serves {}", (*running)->url()));
  std::jthread waiter = TRY(sys::start_thread("signals", [&](const std::stop_token& stop) {
    constexpr timespec kSlice{.tv_sec = 0, .tv_nsec = 200'000'000};
    while (!stop.stop_requested()) {
      const int signal = ::sigtimedwait(&signals, nullptr, &kSlice);
      if (signal == SIGHUP && hangup_renews) {
        (*running)->renew_certificate();
        continue;
      }
      if (signal == SIGINT || signal == SIGTERM || (signal == SIGHUP && !flags.idle_exit)) {
        leave.request_stop();
        return;
      }
    }
  }));
  const auto reason = (*running)->wait(leave.get_token());
  waiter.request_stop();
  tell("STOPPING=1");
  (*running)->stop();
  return reason == server::LeaveReason::kLost ? kFailed : kDone;
}

void declare_serve(Arguments& arguments, ServeFlags& flags) {
  add_destination(arguments, flags.destination);
  arguments.group("Network");
  arguments.text("listen", flags.listen,
                 "ADDR:PORT (default: 127.0.0.1:5000); a busy port is an error");
  arguments.choice("auth", flags.auth, {"users", "none"},
                   "users: each person needs a token of their own (default: as before)");
  arguments.as_flag_only("auth");
  arguments.text("oidc-issuer", flags.oidc_issuer,
                 "https://... of a provider at which users sign in (OpenID Connect)");
  arguments.text("oidc-client", flags.oidc_client, "the server's client id at the provider");
  arguments.text("oidc-secret-file", flags.oidc_secret_file, "file with the client's secret");
  arguments.choice("oidc-role", flags.oidc_role, {"none", "reader", "writer"},
                   "role of people who sign in for the first time (default: none)");
  arguments.text("oidc-groups", flags.oidc_groups, "claim with people's groups (default: groups)");
  arguments.texts("oidc-domain", flags.oidc_domains,
                  "only new people with an address there, e.g. lab.org; may be repeated");
  arguments.text("tls-cert", flags.tls_certificate,
                 "PEM file: the server's certificate, then its authorities'; HTTPS");
  arguments.text("tls-key", flags.tls_key, "PEM file of the certificate's key");
  arguments.text("redirect-http", flags.redirect_http,
                 "ADDR:PORT of plain HTTP that leads browsers to HTTPS, e.g. 0.0.0.0:80");
  arguments.texts("behind-proxy", flags.proxies,
                  "address or range of the proxy in front; may be repeated");
  arguments.flag("insecure", flags.insecure,
                 "listen beyond loopback without --token-file: anyone can read and write");
  arguments.texts("allow-host", flags.allow_hosts,
                  "additional host name of the server (proxy, DNS); may be repeated");
  arguments.text("access-log", flags.access_log,
                 "log one line per request to FILE, or - for the terminal");
  arguments.text("audit-log", flags.audit_log,
                 "copy the audit to FILE as well, a line of JSON per entry");
  arguments.text("alert-url", flags.alert_url,
                 "address of this server in messages of alerts (default: as it prints)");
  arguments.texts("alert-network", flags.alert_networks,
                  "address or range, not public, to which alerts may send; may be repeated");
  arguments.text("mail-server", flags.mail_server,
                 "smtp://HOST:PORT or smtps://HOST:PORT by which alerts send mail");
  arguments.text("mail-from", flags.mail_from, "the sender of that mail, as corral@lab.org");
  arguments.texts("mail-domain", flags.mail_domains,
                  "domain to which mail may go (default: the sender's); may be repeated");
  arguments.text("mail-user", flags.mail_user, "user name at the mail server");
  arguments.text("mail-password-file", flags.mail_password_file, "file with its password");
  arguments.bytes("max-memory", flags.max_memory,
                  "memory for bodies; each for TCP, socket and JSON (default: 256MiB)");
  arguments.group("Storage");
  arguments.text("artifacts", flags.artifacts,
                 "DIR or s3://BUCKET/PREFIX for artifacts (default: STORE/artifacts)");
  arguments.text("read-store", flags.read_store,
                 "postgresql://... of a read replica that serves charts");
  arguments.choice("durability", flags.durability, {"full", "relaxed"},
                   "full, or relaxed: faster, a power cut may lose the last moments");
  arguments.text("keep-days", flags.keep.days, "remove runs that ended more than DAYS ago");
  arguments.bytes("keep-bytes", flags.keep.bytes,
                  "remove the oldest ended runs when the store exceeds this size");
  arguments.group("Process");
  arguments.flag("idle-exit", flags.idle_exit, "exit when idle; use any free port");
  arguments.duration("idle-after", flags.idle_after, "idle timeout of --idle-exit (default: 15m)");
  arguments.flag("stop", flags.stop, "stop the store's running server");
}

Result<int> serve_or_stop(ServeFlags& flags) {
  MemoryStore memory;
  if (flags.destination.store == kMemoryStore && !flags.stop) {
    memory.path = TRY(make_memory_store());
    flags.destination.store = memory.path;
    flags.durability = "relaxed";
    flags.in_memory = true;
  }
  const spool::Destination destination = TRY(usable_destination(flags.destination));
  if (!destination.server.empty())
    return fail(Code::kInvalidArgument, "--server names a running server; serve needs --store");
  if (!flags.stop) return serve_store(flags, destination);
  TRY(server::stop_server(destination.store));
  fmt::print("stopped\n");
  return kDone;
}

}  // namespace

int serve_command(std::span<char* const> args) {
  ServeFlags flags;
  Arguments arguments(
      "serve", "Serves the page and the API of a store, and sends the data of orphaned runs.",
      kServeExamples);
  declare_serve(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("serve", serve_or_stop(flags));
}

}  // namespace corral::cli
