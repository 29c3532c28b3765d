// The life of a server: it takes the store's lock, listens, publishes its address, and exits on
// request or when it is idle.
//
//   auto lock = lock_store(dir);  // first, because one server owns one store
//   auto store = open_sqlite_store(...);
//   auto server = start_server(options, std::move(*lock), std::move(*store));
//   (*server)->wait(stop_token);  // then destroy it, or call stop()
//
// Threads: 2 for I/O, 4 for handlers, 8 for parts of streams, 8 for uploads, 4 for late answers, 1
// for events, 1 that removes artifacts, 1 that follows the accounts, 4 for alerts (1 looks at the
// runs, 3 send), 1 per background job. wait() uses the caller's thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "server/core/access_log.h"
#include "server/core/accounts.h"
#include "server/core/alerts.h"
#include "server/core/artifact_removal.h"
#include "server/core/audit_log.h"
#include "server/core/context.h"
#include "server/core/door.h"
#include "server/core/figures.h"
#include "server/core/http_types.h"
#include "server/core/once_codes.h"
#include "server/core/profile_requests.h"
#include "server/core/rate.h"
#include "store/artifacts/artifact_store.h"
#include "store/store.h"
#include "sys/named_files.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

namespace corral::server {

namespace fs = std::filesystem;

// Runs on a thread of its own from start to stop and returns soon after a stop request. A job that
// throws is called again (sys/thread_guard.h).
using BackgroundJob = std::function<void(const std::stop_token&)>;

// The provider of OpenID Connect at which users sign in; the others as SignIns has them.
struct SignInOptions {
  std::string issuer;
  std::string client;
  std::optional<fs::path> secret_file{};  // nullopt: a public client
  std::string ca_file{};                  // as HttpTarget has it
  std::string groups{};                   // the claim with a person's groups
  Role newcomers = Role::kAnyone;
  std::vector<std::string> domains{};
};

// As Alerts::Options has them, without the password.
struct AlertOptions {
  std::string url{};  // empty: the server's own
  std::vector<http::Network> networks{};
  sys::MailServer mail{};
  std::vector<std::string> mail_domains{};
  std::optional<fs::path> mail_password_file{};
};

struct ServeOptions {
  fs::path store_dir{};
  // Default: the store's remembered port on 127.0.0.1, else the first free one of
  // limits::kFirstPort..kLastPort.
  std::optional<sys::ListenAddress> listen{};
  // Exit after `idle_after` without a request or an open event stream. Frames of a live run are
  // requests.
  bool idle_exit = false;
  Nanos idle_after = std::chrono::minutes(15);
  // A server that has lost its store refuses requests for this long before it exits, so that every
  // live client learns the reason.
  Nanos farewell = std::chrono::seconds(15);
  std::optional<http::Tls::Files> tls{};              // HTTPS alone at `listen`
  std::optional<sys::ListenAddress> redirect_http{};  // plain; leads browsers to HTTPS
  std::optional<fs::path> token_file{};
  // True: the store asks for users from now on; false: no longer; nullopt: as it did before.
  std::optional<bool> users{};
  std::optional<SignInOptions> sign_ins{};
  bool refuse_users = false;  // does not serve a store that asks for users
  // The place of artifacts: a directory or "s3://bucket/prefix"; empty: store_dir/artifacts.
  std::string artifacts{};
  MakeThumbnail make_thumbnail{};
  bool insecure = false;                   // allows other hosts without a token
  std::vector<std::string> allow_hosts{};  // further host names of the server
  std::optional<fs::path> access_log{};    // "-": standard output
  std::optional<fs::path> audit_log{};     // a copy of the audit
  AlertOptions alerts{};
  std::function<void(std::string_view)> complain{};  // gets every 5xx; any thread, never blocks
  std::vector<BackgroundJob> jobs{};
  HttpOptions http{};
  EventHub::Options events{};
};

// Returns kInvalidArgument for an address beyond loopback without a token, `users` and `insecure`.
// start_server() checks this, too; a caller that opens a store first checks it before.
Result<> check_exposure(const ServeOptions& options);

// The flock of <store>/server.lock; held as long as this lives.
class StoreLock {
 public:
  explicit StoreLock(sys::Fd fd) : fd_(std::move(fd)) {}

 private:
  sys::Fd fd_;
};
// Creates the directory (0700) if it is missing. kAlreadyExists names pid and URL of the server
// that owns the store; kUnsupported means a network filesystem, where flock and WAL are not safe.
Result<StoreLock> lock_store(const fs::path& store_dir);

// kLost: the store's files are gone; the clients of the last seconds got that error.
enum class LeaveReason { kAsked, kIdle, kLost };

class RunningServer {
 public:
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  [[nodiscard]] const std::string& url() const { return record_.url; }
  [[nodiscard]] const std::string& socket() const { return record_.socket; }
  // Returns true when the server listens beyond loopback without a token, which deserves a warning.
  [[nodiscard]] bool is_open_to_others() const { return open_to_others_; }
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }
  // Has certificate and key read again soon, if their files have changed; any thread.
  void renew_certificate();

  // Blocks until `stop`, a POST /stop, the idle timeout if options.idle_exit is set, or the loss of
  // the store's files, which it checks every second. The caller then stops the server.
  LeaveReason wait(const std::stop_token& stop);
  // Stops gracefully: requests in flight finish within 5 s, event streams end, server.json and the
  // socket are removed. A second call does nothing; the destructor calls it.
  void stop();

 private:
  friend Result<std::unique_ptr<RunningServer>> start_server(ServeOptions options, StoreLock lock,
                                                             std::unique_ptr<store::Store> store);
  RunningServer(ServeOptions options, StoreLock lock, std::unique_ptr<store::Store> store);
  Result<> listen();
  Result<> check_users();
  Result<> open_tls();
  Result<> open_sign_ins();
  Result<> open_alerts();
  Result<> open_accounts();
  void follow_accounts(const std::stop_token& stop);
  void follow_certificate(const std::stop_token& stop);
  struct Chore {
    std::function<Result<>()> work;
    std::string_view fails, works;  // said after a failure, and when it works again
  };
  void repeat(const std::stop_token& stop, Nanos pause, const Chore& chore) const;
  void follow_audit(const std::stop_token& stop);
  void watch_runs(const std::stop_token& stop);
  void send_messages(const std::stop_token& stop);
  Result<std::vector<Listener>> open_listeners(sys::Fd tcp, const sys::ListenAddress& address);
  Result<> open_http(sys::Fd tcp, const sys::ListenAddress& address);
  std::shared_ptr<Context> context_of(const Request& request);
  Response handle(Request request);
  void note(const http::Exchange& exchange);
  void ask_to_stop();
  [[nodiscard]] Nanos idle_for() const;
  void check_files();

  // Constant once start_server() has returned; the objects are safe from any thread.
  ServeOptions options_;
  StoreLock lock_;
  sys::NamedFiles lock_name_;
  std::unique_ptr<store::Store> store_;
  const store::Reader reader_;
  EventHub events_;
  Figures figures_;
  std::unique_ptr<AccessLog> access_log_;  // null without --access-log
  std::unique_ptr<AuditLog> audit_log_;    // null without --audit-log
  std::unique_ptr<door::State> door_;
  ProfileRequests profiles_;
  Accounts accounts_;
  OnceCodes once_;
  SignIns sign_in_rules_;
  Rate sign_ins_{20, std::chrono::seconds(3)};
  Rate device_codes_{10, std::chrono::seconds(30)};
  Rate device_polls_{600, std::chrono::milliseconds(100)};
  std::unique_ptr<store::artifacts::ArtifactStore> artifacts_;
  std::unique_ptr<ArtifactRemoval> artifact_removal_;  // from start to stop
  std::shared_ptr<http::Tls> tls_;                     // null: plain HTTP
  std::unique_ptr<Alerts> alerts_;                     // from start to stop
  Context context_;
  sys::ServerRecord record_;
  bool open_to_others_ = false;
  bool users_before_ = false;  // the store asked for users before this server started

  // Only the owner's thread, which calls wait() and stop().
  bool stopped_ = false;
  std::optional<std::int64_t> lost_since_ns_;  // steady clock
  bool reported_lock_ = false;

  std::atomic<std::int64_t> last_request_ns_;  // steady clock
  std::atomic<int> in_flight_{0};

  Mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  bool asked_to_stop_ GUARDED_BY(mutex_) = false;
  bool asked_to_renew_ GUARDED_BY(mutex_) = false;

  // Only the owner's thread. Declared last because their threads use the members above.
  std::unique_ptr<HttpServer> http_;
  std::vector<std::jthread> jobs_;
};

// kUnavailable when an explicit address is in use.
Result<std::unique_ptr<RunningServer>> start_server(ServeOptions options, StoreLock lock,
                                                    std::unique_ptr<store::Store> store);

// `corral serve --stop`: asks the store's server to exit and waits until it has released the store.
// kNotFound when none runs.
Result<> stop_server(const fs::path& store_dir, Nanos limit = std::chrono::seconds(15));

}  // namespace corral::server
