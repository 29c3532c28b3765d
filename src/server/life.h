// The life of a server: it takes a store's lock, listens, says where it is, and leaves when asked
// or when nobody needs it.
//
//   auto lock = lock_store(dir);             // before the store is opened: one server owns one
//   store auto store = open_sqlite_store(...); auto server = start_server(options,
//   std::move(*lock), std::move(*store));
//   (*server)->wait(stop_token);             // then destroy it, or stop()
//
// Threads: 2 for I/O, 4 for handlers, 8 for parts of streams, 8 for uploads, 1 for events, 1 that
// removes artifacts, 1 per background job; wait() uses the caller's.
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
#include "server/core/artifact_removal.h"
#include "server/core/context.h"
#include "server/core/door.h"
#include "server/core/figures.h"
#include "server/core/http_types.h"
#include "server/core/profile_asks.h"
#include "store/artifacts/artifact_store.h"
#include "store/store.h"
#include "sys/named_files.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

namespace corral::server {

namespace fs = std::filesystem;

// Runs on a thread of its own from start to stop; returns soon after the token says so. One that
// throws is called again (sys/thread_guard.h).
using BackgroundJob = std::function<void(const std::stop_token&)>;

struct ServeOptions {
  fs::path store_dir{};
  // Not set: the store's remembered port on 127.0.0.1, else the first free one of
  // limits::kFirstPort..kLastPort.
  std::optional<sys::ListenAddress> listen{};
  bool idle_exit = false;  // leave after `idle_after` without request or open event stream (a live
                           // run's frames are requests)
  Nanos idle_after = std::chrono::minutes(15);
  // A server without its store refuses for so long before it leaves: every client that is alive
  // asks meanwhile and hears why.
  Nanos farewell = std::chrono::seconds(15);
  std::optional<fs::path> token_file{};
  // Where artifacts lie: a directory or "s3://bucket/prefix"; empty: store_dir/artifacts.
  std::string artifacts{};
  bool insecure = false;                             // beyond loopback without a token: on purpose
  std::vector<std::string> allow_hosts{};            // further names that the server is reached by
  std::optional<fs::path> access_log{};              // "-": standard output
  std::function<void(std::string_view)> complain{};  // told of every 5xx; any thread, never blocks
  std::vector<BackgroundJob> jobs{};
  HttpOptions http{};
  EventHub::Options events{};
};

// Whether the options let others in on purpose only: kInvalidArgument for an address beyond
// loopback without a token and without `insecure`. start_server() asks, too; whoever opens a store
// first asks before.
Result<> check_exposure(const ServeOptions& options);

// The flock of <store>/server.lock; held as long as this lives.
class StoreLock {
 public:
  explicit StoreLock(sys::Fd fd) : fd_(std::move(fd)) {}

 private:
  sys::Fd fd_;
};
// Makes the directory (0700) when it is missing. kAlreadyExists names pid and URL of the server
// that has the store; kUnsupported for network filesystems, where flock and WAL are not safe.
Result<StoreLock> lock_store(const fs::path& store_dir);

// kLost: the store has lost its files; whoever asked in the last seconds was told so.
enum class LeaveReason { kAsked, kIdle, kLost };

class RunningServer {
 public:
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  [[nodiscard]] const std::string& url() const { return record_.url; }
  [[nodiscard]] const std::string& socket() const { return record_.socket; }
  // Listens beyond loopback without a token, as `insecure` allowed: worth a warning.
  [[nodiscard]] bool is_open_to_others() const { return open_to_others_; }

  // Blocks until `stop`, a request of POST /stop, idleness when options.idle_exit is set, or the
  // loss of the store's files, which it looks at every second. Does not stop by itself.
  LeaveReason wait(const std::stop_token& stop);
  // Ends gracefully: requests in flight finish within 5 s, event streams end, server.json and the
  // socket go. Once; the destructor does it else.
  void stop();

 private:
  friend Result<std::unique_ptr<RunningServer>> start_server(ServeOptions options, StoreLock lock,
                                                             std::unique_ptr<store::Store> store);
  RunningServer(ServeOptions options, StoreLock lock, std::unique_ptr<store::Store> store);
  Result<> listen();
  Result<> open_http(sys::Fd tcp, const sys::ListenAddress& address);
  Response handle(Request request);
  void note(const http::Exchange& exchange);
  void ask_to_stop();
  [[nodiscard]] Nanos idle_for() const;
  void look_at_files();

  ServeOptions options_;
  StoreLock lock_;
  sys::NamedFiles lock_name_;
  std::unique_ptr<store::Store> store_;
  const store::Reader reader_;
  EventHub events_;
  Figures figures_;
  std::unique_ptr<AccessLog> access_log_;  // null: none was asked for
  std::unique_ptr<door::State> door_;
  ProfileAsks profiles_;
  std::unique_ptr<store::artifacts::ArtifactStore> artifacts_;
  std::unique_ptr<ArtifactRemoval> artifact_removal_;  // from start to stop
  Context context_;
  sys::ServerRecord record_;
  bool open_to_others_ = false;
  bool stopped_ = false;
  // Of wait()'s thread.
  std::optional<std::int64_t> lost_since_ns_;  // steady clock
  bool told_of_lock_ = false;

  std::atomic<std::int64_t> last_request_ns_;  // steady clock
  std::atomic<int> in_flight_{0};
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool asked_to_stop_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<HttpServer> http_;
  std::vector<std::jthread> jobs_;
};

// kUnavailable when an explicit address is in use.
Result<std::unique_ptr<RunningServer>> start_server(ServeOptions options, StoreLock lock,
                                                    std::unique_ptr<store::Store> store);

// `corral serve --stop`: asks the store's server to leave and waits until it let go of the store.
// kNotFound when none runs.
Result<> stop_server(const fs::path& store_dir, Nanos limit = std::chrono::seconds(15));

}  // namespace corral::server
