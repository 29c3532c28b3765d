// Endpoint: one Prometheus endpoint, asked again and again.
//
// A scrape waits for its answer (at most the timeout), so that it has a thread for it. While the
// endpoint does not answer it is asked less often, at least every 10 s; the failure and the
// recovery are reported once each. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/exposition.h"
#include "collect/foreign/relabel.h"
#include "sys/http_client.h"

namespace corral::collect::foreign {

class Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> create(const PrometheusSource& source, PointQueue& queue,
                                                  ProblemBox& problems);
  [[nodiscard]] BootTime due() const { return due_; }
  // `cancel` ends it within about a second.
  void scrape(const std::atomic<bool>& cancel);

 private:
  Endpoint(const PrometheusSource& source, Relabel relabel, PointQueue& queue,
           ProblemBox& problems);
  Result<std::string> fetch(const std::atomic<bool>& cancel);
  Result<> record(std::string_view text, BootTime now);
  void report_repeated(const Repeated& dropped);
  void emit(const ExpositionSample& sample, BootTime now);
  // When the sample was taken; nothing when the endpoint said so before.
  std::optional<BootTime> sample_time(const ExpositionSample& sample, const std::string& source,
                                      BootTime now);
  void plan(BootTime began, bool answered);

  PrometheusSource source_;
  std::string path_;
  sys::HttpClient client_;
  Relabel relabel_;
  Emitter emitter_;
  std::unordered_map<std::string, std::int64_t> stamped_;  // series -> its latest own time, ms
  Nanos utc_minus_boot_{0};
  Nanos pause_;
  BootTime due_{};
};

}  // namespace corral::collect::foreign
