#include "server/life.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "core/limits.h"
#include "core/text.h"
#include "oidc/provider.h"
#include "server/core/artifact_place.h"
#include "server/core/artifacts.h"
#include "server/core/audit.h"
#include "server/core/gate.h"
#include "server/core/router.h"
#include "server/core/unseen.h"
#include "store/artifacts/open/open_artifacts.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"
#include "sys/clock.h"
#include "sys/http_client.h"
#include "sys/private_directory.h"
#include "sys/thread_guard.h"

namespace corral::server {
namespace {

constexpr auto kGrace = std::chrono::seconds(5);
constexpr std::size_t kShownError = 500;  // bytes of an error's body in a message
constexpr Nanos kLook = std::chrono::seconds(1);
// A token that is revoked on one server counts no longer on another one after this time.
constexpr Nanos kFollowUsers = std::chrono::milliseconds(500);
// Together less than ten seconds, within which a NaN is told.
constexpr Nanos kLookAtRuns = std::chrono::seconds(4);
constexpr Nanos kLookAtMessages = std::chrono::seconds(2);
constexpr Nanos kFollowCertificate = std::chrono::seconds(10);
constexpr std::string_view kUsersOnly =
    "this database is served to its users only: name a server of it and a token of yours, --server "
    "URL --token-file FILE";
constexpr std::string_view kPageApi = "/api/corral/v1/";
constexpr std::string_view kStopPath = "/api/corral/v1/stop";
constexpr std::string_view kFramesPath = "/api/corral/v1/frames";

std::int64_t steady_ns() {
  return std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && sys::is_ip_literal(host));
}

struct Bound {
  sys::Fd socket;
  sys::ListenAddress address;
};

Result<Bound> bind_at(sys::ListenAddress address) {
  sys::Fd socket = TRY(sys::listen_tcp(address));
  address.port = TRY(sys::bound_port(socket));
  return Bound{std::move(socket), std::move(address)};
}

// The port that the store's server had last, so that bookmarks and open pages live on; else the
// first free one.
Result<Bound> bind_remembered(const fs::path& store_dir) {
  const Result<std::string> text = sys::read_file(sys::server_port_path(store_dir), 64);
  const std::optional<std::int64_t> remembered = text ? parse_int(trim(*text)) : std::nullopt;
  if (remembered && *remembered > 0 && *remembered <= 65535) {
    if (auto bound = bind_at({.port = static_cast<std::uint16_t>(*remembered)})) return bound;
  }
  Error last{Code::kUnavailable, "no port"};
  for (std::uint16_t port = limits::kFirstPort; port <= limits::kLastPort; ++port) {
    auto bound = bind_at({.port = port});
    if (bound) return bound;
    last = bound.error();
  }
  return fail(Code::kUnavailable, fmt::format("none of the ports {} to {} on 127.0.0.1 is free "
                                              "({}); --listen ADDRESS:PORT chooses another",
                                              limits::kFirstPort, limits::kLastPort, last.message));
}

Result<Bound> bind_tcp(const ServeOptions& options) {
  if (!options.listen) return bind_remembered(options.store_dir);
  Result<Bound> bound = bind_at(*options.listen);
  if (!bound && bound.error().code == Code::kUnavailable) {
    return fail(Code::kUnavailable,
                bound.error().message + "; --listen ADDRESS:PORT chooses another");
  }
  return bound;
}

GateRules rules_for(const sys::ListenAddress& address, std::string token,
                    const std::vector<std::string>& further_hosts) {
  GateRules rules{
      .hosts = {address.host}, .wildcard = address.is_wildcard(), .token = std::move(token)};
  const std::string name = is_loopback(address.host) ? "" : sys::host_name();
  if (!name.empty()) {
    rules.hosts.push_back(name);
    rules.hosts.push_back(name.substr(0, name.find('.')));
  }
  rules.hosts.insert(rules.hosts.end(), further_hosts.begin(), further_hosts.end());
  for (std::string& host : rules.hosts) host = lower_ascii(host);
  return rules;
}

// A closed terminal or a full disk loses only the message: messages are written on threads where an
// exception would end the server.
std::function<void(std::string_view)> unfailing(std::function<void(std::string_view)> complain) {
  if (!complain) return {};
  return [complain = std::move(complain)](std::string_view what) {
    try {
      complain(what);
    } catch (const std::exception&) {
      return;
    }
  };
}

// By HTTPS at a name that the certificate is for.
std::string url_for(sys::ListenAddress address, const http::Tls* tls) {
  if (address.is_wildcard()) address.host = "127.0.0.1";
  if (tls == nullptr) return "http://" + address.text();
  if (const std::string host = tls->host();
      !host.empty() && !tls->covers(lower_ascii(address.host)))
    address.host = host;
  return "https://" + address.text();
}

bool has_body(const Request& request) {
  return !request.header("content-length").empty() || !request.header("transfer-encoding").empty();
}

// MLflow's clients may send the parameters of a GET as its body.
bool takes_body(const Request& request) {
  const bool reads = request.method == Method::kGet || request.method == Method::kHead;
  return !reads || door::owns(request.path);
}

Result<> check_secret_file(const fs::path& file) {
  std::error_code error;
  const fs::perms mode = fs::status(file, error).permissions();
  constexpr fs::perms kOfOthers = fs::perms::others_read | fs::perms::others_write;
  if (error || (mode & kOfOthers) == fs::perms::none) return {};
  return fail(Code::kPermission,
              fmt::format("{}: every user of this machine may read or change this secret: chmod "
                          "o-rwx it",
                          file.string()));
}

// The text of the file, without blanks around it.
Result<std::string> read_secret(const fs::path& file) {
  constexpr std::size_t kMostSecret = 4096;
  TRY(check_secret_file(file));
  const std::string content = TRY(sys::read_file(file, kMostSecret));
  std::string secret(trim(content));
  if (secret.empty()) return fail(Code::kInvalidArgument, file.string() + " holds no secret");
  return secret;
}

Result<bool> has_spaces(const store::Reader& reader) {
  return in_snapshot(reader, [](store::Reading& reading) -> Result<bool> {
    return !TRY(store::accounts::spaces(reading)).empty();
  });
}

// The calls of trainings, which wait for each of them.
bool is_quick(const Request& request) {
  if (door::owns(request.path)) return door::is_quick(request);
  return request.path == "/health" || request.path == kFramesPath;
}

}  // namespace

Result<> check_exposure(const ServeOptions& options) {
  if (!options.listen || is_loopback(options.listen->host) || options.token_file ||
      options.users.value_or(false) || options.insecure)
    return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--listen {} lets other machines in: --token-file FILE asks them for a "
                          "token, --auth users each person for theirs, --insecure lets everyone "
                          "who reaches this address read and write",
                          options.listen->text()));
}

Result<StoreLock> lock_store(const fs::path& store_dir) {
  const sys::FilesystemKind kind = TRY(sys::filesystem_of(store_dir));
  if (kind.network) {
    return fail(
        Code::kUnsupported,
        fmt::format(
            "{} is on {}, a network filesystem, where a database file is not safe: choose a local "
            "directory with --store, or a server on another host with --server",
            store_dir.string(), kind.name));
  }
  const sys::PrivateDirectory store = TRY(sys::PrivateDirectory::make(store_dir));
  Result<sys::Fd> fd = store.try_lock_file(sys::server_lock_path(store_dir).filename());
  if (fd) return StoreLock(*std::move(fd));
  if (fd.error().code != Code::kUnavailable) return tl::unexpected(fd.error());
  const auto other = sys::read_server_record(store_dir);
  const std::string who = other
                              ? fmt::format("the server with pid {} at {}", other->pid, other->url)
                              : "another process";
  return fail(Code::kAlreadyExists, fmt::format("{} is in use by {}", store_dir.string(), who));
}

RunningServer::RunningServer(ServeOptions options, StoreLock lock,
                             std::unique_ptr<store::Store> store)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      lock_name_({sys::server_lock_path(options_.store_dir)}),
      store_(std::move(store)),
      reader_(*store_, store::Access::everything()),
      events_(options_.events),
      door_(door::open(*store_, reader_)),
      accounts_(reader_),
      context_{.store = *store_,
               .reader = reader_,
               .events = events_,
               .facts = {.version = CORRAL_VERSION, .started = sys::utc_now()},
               .request_stop = [this] { ask_to_stop(); },
               .door = door_.get(),
               .figures = &figures_,
               .make_thumbnail = options_.make_thumbnail,
               .profiles = &profiles_,
               .accounts = &accounts_,
               .once = &once_},
      last_request_ns_(steady_ns()) {
  options_.complain = unfailing(std::move(options_.complain));
}

RunningServer::~RunningServer() { stop(); }

Result<> RunningServer::listen() {
  TRY(check_exposure(options_));
  TRY(check_users());
  artifacts_ = TRY(store::artifacts::open_artifact_store(
      options_.artifacts.empty() ? (options_.store_dir / "artifacts").string() : options_.artifacts,
      options_.store_dir.string()));
  context_.artifacts = artifacts_.get();
  const std::string elsewhere = check_artifact_place(*store_, reader_, *artifacts_);
  if (!elsewhere.empty() && options_.complain) options_.complain(elsewhere);
  artifact_removal_ =
      std::make_unique<ArtifactRemoval>(*store_, reader_, *artifacts_, options_.complain);
  context_.artifact_removal = artifact_removal_.get();
  if (options_.access_log) access_log_ = TRY(AccessLog::open(*options_.access_log));
  if (options_.audit_log) {
    audit_log_ =
        TRY(AuditLog::open(*options_.audit_log, options_.store_dir / "audit-log.position"));
    options_.jobs.emplace_back([this](const std::stop_token& stop) { follow_audit(stop); });
  }
  TRY(open_tls());
  TRY(open_sign_ins());
  Bound bound = TRY(bind_tcp(options_));
  record_.pid = ::getpid();
  record_.started = context_.facts.started;
  record_.version = context_.facts.version;
  record_.url = url_for(bound.address, tls_.get());
  record_.socket = sys::socket_path(options_.store_dir).string();
  TRY(sys::replace_file(sys::server_port_path(options_.store_dir),
                        fmt::format("{}\n", bound.address.port)));
  // The record is written before the socket exists: a client that gets an answer finds the URL.
  TRY(sys::write_server_record(options_.store_dir, record_));
  TRY(open_alerts());
  return open_http(std::move(bound.socket), bound.address);
}

// Refuses what does not go with users, or with their absence, before anything is changed.
Result<> RunningServer::check_users() {
  const auto read = [&](store::Reading& reading) { return store::accounts::state(reading); };
  users_before_ = TRY(in_snapshot(reader_, read)).users;
  const bool users = options_.users.value_or(users_before_);
  if ((users || users_before_) && options_.refuse_users)
    return fail(Code::kPermission, std::string(kUsersOnly));
  if (users_before_ && !users && TRY(has_spaces(reader_))) {
    return fail(Code::kInvalidArgument,
                "this store has spaces, which --auth none would open to everybody: `corral space "
                "ls` and `corral space rm NAME --open` first");
  }
  if (users && options_.token_file)
    return fail(Code::kInvalidArgument,
                "this store asks each user for a token of their own: leave out --token-file, or "
                "let one token serve all again with --auth none");
  const bool beyond = options_.listen && !is_loopback(options_.listen->host);
  if (!users || !beyond || options_.tls || !options_.http.proxies.empty() || options_.insecure)
    return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--listen {} lets other machines in, and the tokens of its users would "
                          "cross the network readable: --tls-cert FILE --tls-key FILE for HTTPS, "
                          "--behind-proxy ADDRESS of the proxy that ends TLS, or --insecure",
                          options_.listen->text()));
}

Result<> RunningServer::open_tls() {
  if (!options_.tls) {
    if (!options_.redirect_http) return {};
    return fail(Code::kInvalidArgument,
                "--redirect-http leads to HTTPS: it goes with --tls-cert and --tls-key");
  }
  tls_ = TRY(http::Tls::open(*options_.tls));
  context_.tls = tls_.get();
  options_.jobs.emplace_back([this](const std::stop_token& stop) { follow_certificate(stop); });
  return {};
}

Result<> RunningServer::open_sign_ins() {
  if (!options_.sign_ins) return {};
  const SignInOptions& given = *options_.sign_ins;
  if (!options_.users.value_or(users_before_))
    return fail(Code::kInvalidArgument, "--oidc-issuer is for users: it goes with --auth users");
  std::string secret;
  if (given.secret_file) secret = TRY(read_secret(*given.secret_file));
  sign_in_rules_.provider = TRY(oidc::Provider::make({.issuer = given.issuer,
                                                      .client = given.client,
                                                      .secret = std::move(secret),
                                                      .ca_file = given.ca_file,
                                                      .groups = given.groups}));
  sign_in_rules_.newcomers = given.newcomers;
  for (const std::string& domain : given.domains) {
    if (domain.empty() || domain.find('@') != std::string::npos)
      return fail(Code::kInvalidArgument,
                  fmt::format("--oidc-domain '{}': expected a domain, as lab.org", domain));
    sign_in_rules_.domains.push_back(lower_ascii(domain));
  }
  context_.sign_ins = &sign_in_rules_;
  return {};
}

// The server knows its URL.
Result<> RunningServer::open_alerts() {
  constexpr int kSenders = 3;
  const AlertOptions& given = options_.alerts;
  Alerts::Options options{.url = given.url.empty() ? record_.url : given.url,
                          .networks = given.networks,
                          .mail = given.mail,
                          .mail_domains = given.mail_domains};
  if (given.mail_password_file) options.mail.password = TRY(read_secret(*given.mail_password_file));
  alerts_ = std::make_unique<Alerts>(*store_, reader_, accounts_, std::move(options));
  context_.alerts = alerts_.get();
  options_.jobs.emplace_back([this](const std::stop_token& stop) { watch_runs(stop); });
  for (int i = 0; i < kSenders; ++i)
    options_.jobs.emplace_back([this](const std::stop_token& stop) { send_messages(stop); });
  return {};
}

void RunningServer::renew_certificate() {
  const Lock lock(mutex_);
  asked_to_renew_ = true;
  wake_.notify_all();
}

void RunningServer::follow_certificate(const std::stop_token& stop) {
  std::string told;
  for (;;) {
    bool asked = false;
    {
      Lock lock(mutex_);
      wake_.wait_for(lock, stop, kFollowCertificate,
                     [this]() REQUIRES(mutex_) { return asked_to_renew_; });
      asked = std::exchange(asked_to_renew_, false);
    }
    if (stop.stop_requested()) return;
    const Result<bool> renewed = tls_->refresh();
    if (renewed && !*renewed) continue;
    std::string news =
        renewed ? "has a new certificate, which is valid until " + iso_utc(tls_->not_after())
                : "the certificate in use stays: " + renewed.error().message;
    if (options_.complain && (asked || news != told)) options_.complain(news);
    told = std::move(news);
  }
}

// Calls `work` until the stop, with pauses. Says once why it cannot be done, and when it can again.
void RunningServer::repeat(const std::stop_token& stop, Nanos pause, const Chore& chore) const {
  Mutex mutex;
  std::condition_variable_any wake;
  Lock lock(mutex);
  std::string told;
  while (!wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    const Result<> done = chore.work();
    std::string news = done ? "" : fmt::format("{}: {}", chore.fails, done.error().message);
    if (options_.complain && news != told) options_.complain(done ? chore.works : news);
    told = std::move(news);
  }
}

void RunningServer::follow_audit(const std::stop_token& stop) {
  repeat(stop, kLook,
         {.work = [this] { return audit_log_->copy(reader_, sys::utc_now()); },
          .fails = "the audit is not copied",
          .works = "the audit is copied again"});
}

void RunningServer::watch_runs(const std::stop_token& stop) {
  repeat(stop, kLookAtRuns,
         {.work = [this] { return alerts_->look(sys::utc_now(), sys::boot_now()); },
          .fails = "alerts tell nothing",
          .works = "alerts tell what is new again"});
}

void RunningServer::send_messages(const std::stop_token& stop) {
  const auto send_due = [&]() -> Result<> {
    while (!stop.stop_requested() && TRY(alerts_->send_next(sys::utc_now()))) {
    }
    return {};
  };
  repeat(stop, kLookAtMessages,
         {.work = send_due,
          .fails = "messages of alerts wait",
          .works = "messages of alerts are sent again"});
}

// Called when nothing else can keep the server from starting.
Result<> RunningServer::open_accounts() {
  const bool users = options_.users.value_or(users_before_);
  if (users != users_before_) {
    TRY(store_->change(
        [&](store::Writing& writing) { return store::accounts::require_users(writing, users); }));
    if (options_.complain)
      options_.complain(users ? "the store asks for users from now on"
                              : "the store does not ask for users any more");
  }
  TRY(accounts_.refresh());
  return {};
}

// Learns of changes by other servers of the same database.
void RunningServer::follow_accounts(const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any wake;
  Lock lock(mutex);
  bool asked = accounts_.required();
  UtcTime looked = sys::utc_now();
  while (!wake.wait_for(lock, stop, kFollowUsers, [&] { return stop.stop_requested(); })) {
    // After an error what is known stays: a store that cannot be read gives nothing away.
    const bool changed =
        accounts_.refresh().value_or(Accounts::Change::kNone) == Accounts::Change::kOther;
    const UtcTime now = sys::utc_now();
    if (changed || accounts_.any_expired(looked, now)) events_.close_streams();
    looked = now;
    if (asked || !accounts_.required()) continue;
    asked = true;
    if (options_.complain)
      options_.complain(options_.refuse_users ? kUsersOnly
                                              : "another server lets only users in from now on: "
                                                "so does this one");
    if (options_.refuse_users) ask_to_stop();
  }
}

Result<std::vector<Listener>> RunningServer::open_listeners(sys::Fd tcp,
                                                            const sys::ListenAddress& address) {
  std::vector<Listener> listeners;
  listeners.push_back({.socket = std::move(tcp),
                       .tls = tls_,
                       .https_port = tls_ ? address.port : std::uint16_t{0},
                       .https_only = options_.redirect_http.has_value()});
  if (options_.redirect_http) {
    Bound plain = TRY(bind_at(*options_.redirect_http));
    listeners.push_back({.socket = std::move(plain.socket), .https_port = address.port});
  }
  TRY(sys::prepare_socket_directory(record_.socket));
  listeners.push_back({.socket = TRY(sys::listen_unix(record_.socket)), .is_unix = true});
  return listeners;
}

Result<> RunningServer::open_http(sys::Fd tcp, const sys::ListenAddress& address) {
  std::string token;
  if (options_.token_file) {
    const std::string content = TRY(sys::read_file(*options_.token_file, 64u << 10));
    Result<std::string> parsed = parse_token(content);
    if (!parsed) return tl::unexpected(parsed.error().with_context(options_.token_file->string()));
    token = *std::move(parsed);
  }
  std::vector<Listener> listeners = TRY(open_listeners(std::move(tcp), address));
  HttpHandlers handlers;
  TRY(open_accounts());
  open_to_others_ = token.empty() && !accounts_.required() && !is_loopback(address.host);
  GateRules rules = rules_for(address, std::move(token), options_.allow_hosts);
  rules.accounts = &accounts_;
  rules.once = &once_;
  rules.sign_ins = &sign_ins_;
  rules.device_codes = &device_codes_;
  rules.device_polls = &device_polls_;
  rules.tls = tls_.get();
  rules.tokens_by_https =
      accounts_.required() && !tls_ && !options_.insecure && !is_loopback(address.host);
  handlers.gate = [rules = std::move(rules)](const Request& request) {
    Decision decision = decide(request, rules);
    // Before a body is read for nothing.
    const bool unknown = decision.allowed() && !decision.routed && has_body(request);
    return unknown ? no_route(request) : std::move(decision.answer);
  };
  handlers.takes_body = takes_body;
  handlers.reads_json = reads_json;
  handlers.unpacks = unpacks;
  handlers.is_quick = is_quick;
  handlers.handle = [this](Request request) { return handle(std::move(request)); };
  handlers.streams_body = streams_body;
  handlers.error = [](const Request& request, const Error& error) {
    return refusal(request, error);
  };
  handlers.done = [this](const http::Exchange& exchange) { note(exchange); };
  handlers.traffic = figures_.traffic();
  options_.http.spill_directory = options_.store_dir.string();
  http_ = TRY(HttpServer::start(std::move(listeners), options_.http, std::move(handlers)));
  return {};
}

// That of the server, or, if the store has users, one of the request's own.
std::shared_ptr<Context> RunningServer::context_of(const Request& request) {
  if (!accounts_.required()) return {std::shared_ptr<void>(), &context_};
  auto context = std::make_shared<Context>(context_);
  context->who = principal_of(request, accounts_).value_or(Principal{});
  // The owner of the server's socket could read the database itself.
  if (context->who.user.empty() && context->who.role == Role::kAdmin) return context;
  store::Access access = accounts_.access_of(context->who.user);
  if (access.sees_all()) return context;
  context->reader = {*store_, std::move(access)};
  context->seen_artifacts = seen_artifacts(*artifacts_, context->reader);
  context->artifacts = context->seen_artifacts.get();
  return context;
}

Response RunningServer::handle(Request request) {
  // While it lives, a request is in flight, and the context that its answer uses stays.
  struct Busy {
    Busy(RunningServer& s, std::shared_ptr<Context> c) : server(s), context(std::move(c)) {
      server.in_flight_ += 1;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      server.last_request_ns_ = steady_ns();
      server.in_flight_ -= 1;
    }
    RunningServer& server;
    const std::shared_ptr<Context> context;
  };
  const std::shared_ptr<Context> context = context_of(request);
  const Busy busy(*this, context);
  // Reads are refused, too: an answer about a session lets its spool be deleted.
  if (const auto intact = store_->intact(); !intact && request.path != kStopPath)
    return refusal(request, intact.error());
  // Since the gate let it in, its user may have gone.
  if (context->who.role == Role::kAnyone && role_for(request) > Role::kAnyone)
    return token_is_gone(request);
  const bool packed = request.path.starts_with(kPageApi) && http::takes_gzip(request);
  Response response = accounts_.required() && is_audited(request)
                          ? audited(std::move(request), *context)
                          : route(std::move(request), *context);
  if (packed) http::compress_json(response);
  // Until its last byte is out, or in, it is a request in flight.
  if (response.taker) {
    response.taker->take = [receiving = std::make_shared<Busy>(*this, context),
                            take = std::move(response.taker->take)](std::string_view piece) {
      return take(piece);
    };
  }
  if (response.late) {
    response.late = [packed, waiting = std::make_shared<Busy>(*this, context),
                     make = std::move(response.late)](const auto& left) {
      Response made = make(left);
      if (packed) http::compress_json(made);
      return made;
    };
  }
  if (!response.stream) return response;
  response.stream = [streaming = std::make_shared<Busy>(*this, context),
                     produce = std::move(response.stream)](std::string& part) {
    return produce(part);
  };
  return response;
}

void RunningServer::note(const http::Exchange& exchange) {
  figures_.note(exchange);
  if (access_log_) access_log_->note(exchange);
  if (exchange.status < 500 || !options_.complain) return;
  options_.complain(fmt::format("request {}: {} {} answered {}: {}", exchange.id,
                                method_name(exchange.method),
                                to_utf8(std::string_view(exchange.path).substr(0, kShownError)),
                                exchange.status, to_utf8(exchange.error.substr(0, kShownError))));
}

void RunningServer::ask_to_stop() {
  const Lock lock(mutex_);
  asked_to_stop_ = true;
  wake_.notify_all();
}

Nanos RunningServer::idle_for() const {
  if (in_flight_ > 0 || events_.open_streams() > 0) return Nanos(0);
  return Nanos(steady_ns() - last_request_ns_);
}

void RunningServer::check_files() {
  const auto complain = [this](const std::string& what) {
    if (options_.complain) options_.complain(what);
  };
  const auto intact = store_->intact();
  if (!intact && !lost_since_ns_) complain(intact.error().message);
  if (intact) {
    lost_since_ns_.reset();
  } else if (!lost_since_ns_) {
    lost_since_ns_ = steady_ns();
  }
  // A store in a database loses nothing: only the directory with the socket is gone.
  if (!intact || reported_lock_ || lock_name_.check()) return;
  reported_lock_ = true;
  complain(
      fmt::format("{} was deleted, moved or replaced: programs of this machine do not find "
                  "this server by its socket any more; it goes on serving at {}",
                  options_.store_dir.string(), record_.url));
}

LeaveReason RunningServer::wait(const std::stop_token& stop) {
  const auto asked = [this]() REQUIRES(mutex_) { return asked_to_stop_; };
  for (;;) {
    check_files();
    if (lost_since_ns_ && Nanos(steady_ns() - *lost_since_ns_) >= options_.farewell)
      return LeaveReason::kLost;
    const Nanos idle = idle_for();
    const bool idle_enough = options_.idle_exit && idle >= options_.idle_after;
    if (idle_enough && !alerts_->any_waits(sys::utc_now()).value_or(false))
      return LeaveReason::kIdle;
    Lock lock(mutex_);
    const Nanos pause = options_.idle_exit && !idle_enough
                            ? std::min(kLook, options_.idle_after - idle)
                            : Nanos(kLook);
    if (wake_.wait_for(lock, stop, pause, asked) || stop.stop_requested())
      return LeaveReason::kAsked;
  }
}

void RunningServer::stop() {
  if (std::exchange(stopped_, true)) return;
  for (std::jthread& job : jobs_) job.request_stop();
  if (alerts_) alerts_->leave();
  jobs_.clear();
  // At the names of lost files another server's may be.
  const bool named = store_->intact() && lock_name_.check();
  if (named && record_.pid != 0) ::unlink(sys::server_record_path(options_.store_dir).c_str());
  // A foreign file at the socket's path kept this server from starting; it stays.
  std::error_code error;
  if (named && !record_.socket.empty() && fs::is_socket(record_.socket, error))
    ::unlink(record_.socket.c_str());
  if (http_) http_->stop(kGrace);
  artifact_removal_.reset();
}

Result<std::unique_ptr<RunningServer>> start_server(ServeOptions options, StoreLock lock,
                                                    std::unique_ptr<store::Store> store) {
  std::unique_ptr<RunningServer> server(
      new RunningServer(std::move(options), std::move(lock), std::move(store)));
  TRY(server->listen());
  server->options_.jobs.emplace_back(
      [&server = *server](const std::stop_token& stop) { server.follow_accounts(stop); });
  for (const BackgroundJob& job : server->options_.jobs) {
    server->jobs_.push_back(
        TRY(sys::start_thread("a background job", [&job](const std::stop_token& stop) {
          sys::guard_loop("a background job", stop, [&] { job(stop); });
        })));
  }
  return server;
}

Result<> stop_server(const fs::path& store_dir, Nanos limit) {
  const std::optional<sys::ServerRecord> server = sys::find_server(store_dir);
  if (!server)
    return fail(Code::kNotFound, fmt::format("no server runs for {}", store_dir.string()));
  sys::HttpClient client(
      {.base_url = "http://localhost", .unix_socket = server->socket, .token = {}});
  const sys::HttpReply reply =
      TRY(client.send({.method = "POST", .path = "/api/corral/v1/stop", .body = {}}));
  if (reply.status != 200)
    return fail(Code::kUnavailable, fmt::format("the server answered {}", reply.status));
  const BootTime deadline = sys::boot_now() + limit;
  const fs::path lock = sys::server_lock_path(store_dir);
  while (!sys::try_lock_file(lock)) {
    if (sys::boot_now() >= deadline)
      return fail(Code::kUnavailable,
                  fmt::format("the server (pid {}) is still leaving", server->pid));
    sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(20));
  }
  return {};
}

}  // namespace corral::server
