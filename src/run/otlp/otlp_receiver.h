// OtlpReceiver: one [otlp.NAME]: a small HTTP server that OpenTelemetry's exporters of metrics send
// to, on the loopback or a Unix socket.
//
// Flow: POST /v1/metrics (protobuf or JSON, gzip or not) -> mlflow/otlp_metrics -> names and labels
// as a Prometheus endpoint's -> PointQueue. Deltas are added up, so that every counter is
// cumulative. Points over the source's limits are rejected and reported to the client as OTLP's
// partial success; an invalid request is answered with 400 and changes nothing. Requests of
// browsers are rejected: no page may write into a run. The receiver has its own few threads, idle
// until a client calls.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/problems.h"
#include "collect/foreign/relabel.h"
#include "compat/mlflow/wire/otlp_metrics.h"
#include "http/server.h"

namespace corral::run {

class OtlpReceiver {
 public:
  static constexpr std::size_t kBodyBytes = 8u << 20;  // limit of a body, packed and unpacked

  // Binds; clients may connect from now on. kUnavailable when another process listens there.
  static Result<std::unique_ptr<OtlpReceiver>> open(const collect::foreign::OtlpSource& source,
                                                    collect::foreign::PointQueue& queue,
                                                    collect::foreign::ProblemBox& problems);
  ~OtlpReceiver();
  OtlpReceiver(const OtlpReceiver&) = delete;
  OtlpReceiver& operator=(const OtlpReceiver&) = delete;

  // Returns the value of OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, "http://127.0.0.1:4318/v1/metrics";
  // for a Unix socket "unix:/path".
  [[nodiscard]] const std::string& url() const { return url_; }

  // Answers requests from now on.
  Result<> start();
  // Answers the requests under way, then ends. Does nothing if not started or already stopped.
  void stop();

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  // A series as clients send it.
  struct SentSeries {
    std::string name;
    Labels labels;
  };
  // A series as it is recorded.
  struct RecordedSeries {
    double total = 0;  // sum of the deltas
    std::int64_t time_ns = 0;
  };

  OtlpReceiver(const collect::foreign::OtlpSource& source, collect::foreign::Relabel relabel,
               collect::foreign::PointQueue& queue, collect::foreign::ProblemBox& problems);
  Result<> bind(const std::string& listen);
  http::Response handle(const http::Request& request);
  std::uint64_t record(const std::vector<mlflow::OtlpNumbers>& groups);
  void learn(const std::vector<mlflow::OtlpNumbers>& groups);
  bool record(const mlflow::OtlpNumber& number, const mlflow::SpanAttributes& resource);

  collect::foreign::Relabel relabel_;
  collect::foreign::Emitter emitter_;
  std::size_t max_series_;
  std::deque<SentSeries> sent_;                           // all series sent so far, up to a limit
  std::unordered_map<std::string, bool> known_;           // their keys
  std::unordered_map<std::string, RecordedSeries> kept_;  // by name, NUL, source
  Nanos utc_minus_boot_{};
  http::Listener listener_;
  std::string path_;  // path of the Unix socket; empty: TCP
  std::string url_;
  std::unique_ptr<http::HttpServer> server_;  // last: its threads use the rest
};

// OtlpSources: all [otlp.NAME] of a run, and the endpoint that its command is given.
class OtlpSources {
 public:
  // Binds all receivers; one that cannot be bound becomes a problem. The queue outlives this.
  OtlpSources(std::span<const collect::foreign::OtlpSource> sources,
              collect::foreign::PointQueue& queue);

  // Returns the URL of the first receiver; empty: there is none.
  [[nodiscard]] std::string url() const {
    return receivers_.empty() ? std::string() : receivers_.front()->url();
  }
  // Starts to answer requests. A receiver that cannot start becomes a problem, and its address is
  // not given to the command.
  void start();
  void stop();
  // Returns the problems since the last call.
  std::vector<collect::foreign::Problem> problems() { return problems_.take(); }
  std::vector<metric::Health> health() { return problems_.take_health(); }

 private:
  collect::foreign::ProblemBox problems_;
  std::vector<std::unique_ptr<OtlpReceiver>> receivers_;
};

}  // namespace corral::run
