// TrackingRelay: the MLflow server that the command of a run sees.
//
// A small HTTP server on loopback; its path holds the run's id and a secret. Logging calls are
// checked, spooled and answered at once, even if the network or the server is down. All other calls
// are forwarded to the server, after the spooled data before them. Without a server, runs and
// experiments can still be started, named and ended; other calls fail with a status that clients do
// not retry for minutes. The relay has its own threads; sampling and uploading do not depend on
// them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compat/mlflow/relay/messages.h"
#include "compat/mlflow/relay/run_book.h"
#include "compat/mlflow/relay/upstream.h"
#include "http/server.h"

namespace corral::run {

struct RelayOptions {
  BookOptions book;
  UpstreamOptions upstream;
  std::function<std::string()> page;  // the address of the run's page; empty: not yet known
  // Called once for each part of MLflow that is answered but not stored; any thread; may be empty.
  std::function<void(const std::string& part, const std::string& reason)> not_kept{};
  // The address of a previous supervisor; nullopt: any free port.
  std::optional<spool::TrackingAddress> address{};
};

class TrackingRelay {
 public:
  // Binds a port: the command may connect from now on. Requests are answered after start().
  static Result<std::unique_ptr<TrackingRelay>> open(RelayOptions options, Delivery& delivery);
  ~TrackingRelay();
  TrackingRelay(const TrackingRelay&) = delete;
  TrackingRelay& operator=(const TrackingRelay&) = delete;

  // For MLFLOW_TRACKING_URI.
  [[nodiscard]] const std::string& url() const { return url_; }
  // For the process that takes the run over.
  [[nodiscard]] spool::TrackingAddress address() const;
  // `command`: the root of the run's processes.
  Result<> start(pid_t command);
  // The command, when it was not known yet; before it runs.
  void set_command(pid_t command) { command_ = command; }
  // Answers the requests under way and accepts no more.
  void stop();
  // The same, and the command is gone: the runs that it left open end.
  void end();
  // The newest point of each metric that programs logged to the run itself.
  [[nodiscard]] std::vector<std::pair<std::string, mlflow::MetricPoint>> newest_metrics() const {
    return book_.own()->newest_metrics();
  }
  // Why something that was logged is lost; empty: nothing is.
  [[nodiscard]] std::string loss() const { return book_.loss(); }

 private:
  using Found = tl::expected<RunBook::Shared, http::Response>;
  using Handler = Reply (TrackingRelay::*)(const http::Request&);
  struct Call;
  static const Call* find_call(const http::Request& request);

  TrackingRelay(RelayOptions options, Delivery& delivery, sys::Fd socket, std::uint16_t port);
  [[nodiscard]] std::optional<http::Response> gate(const http::Request& request) const;
  http::Response handle(http::Request request);
  http::Response home() const;
  http::Response forward(const http::Request& request);
  Reply forward_or_keep(const http::Request& request);
  http::Response put_artifact(const http::Request& request);
  http::Response send_artifact(http::Request request, const sys::Fd& body);
  std::string artifact_uri(TrackedRun& run);
  void find_artifact(http::Request& request);
  Found find_run(const std::string& id);
  std::optional<RankedClient> find_client(const http::Request& request);
  std::string source_name(const http::Request& request);
  std::string experiment_name(const std::string& id);
  Reply log(const http::Request& request, const mlflow::LogBatch& batch);
  Reply log_pair(const http::Request& request, bool param);

  // Calls that are answered here, or known here in part.
  Reply log_metric(const http::Request& request);
  Reply log_batch(const http::Request& request);
  Reply log_parameter(const http::Request& request);
  Reply set_tag(const http::Request& request);
  Reply delete_tag(const http::Request& request);
  Reply create_run(const http::Request& request);
  Reply update_run(const http::Request& request);
  Reply get_run(const http::Request& request);
  Reply create_experiment(const http::Request& request);
  Reply get_experiment(const http::Request& request);
  Reply get_experiment_by_name(const http::Request& request);
  Reply search(const http::Request& request);

  // Constant after construction; the objects are safe from any thread.
  RelayOptions options_;
  Delivery& delivery_;
  RunBook book_;
  Upstream upstream_;
  std::string secret_;
  std::string prefix_;  // "/<run>/<secret>"
  std::string url_;
  std::uint16_t port_;

  std::atomic<pid_t> command_{0};
  std::atomic<int> forwarding_{0};
  std::atomic<bool> datasets_reported_{false};
  // The clients by the number of their connection.
  Guarded<std::map<std::uint64_t, std::optional<RankedClient>>> clients_;

  // Only the owner's thread.
  sys::Fd socket_;
  std::unique_ptr<http::HttpServer> server_;  // declared last: its threads use the members above
};

}  // namespace corral::run
