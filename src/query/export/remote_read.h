// Prometheus' remote read (https://prometheus.io/docs/prometheus/latest/querying/remote_read_api/):
// a request and its answer as they are sent, protocol buffers in one Snappy block.
//
// Each metric of a run is a series with the labels of docs/prometheus.md. Samples are the points,
// in order of time; of those within one millisecond the last. The answer holds them all (SAMPLES,
// not chunks), so its size is limited. Any bytes (fuzz/fuzz_remote_read.cpp). Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/reader.h"

namespace corral::query {

// In one request.
inline constexpr std::size_t kMostRemoteSeries = 10'000;
inline constexpr std::size_t kMostRemoteSamples = 1'000'000;
// Runs whose series are looked through.
inline constexpr std::size_t kMostRemoteRuns = 20'000;
inline constexpr std::size_t kMostRemoteRequest = 256u << 10;  // bytes, unpacked

class RemoteRead {
 public:
  // kInvalidArgument, kTooLarge: it is no such request. kUnprocessable: a query names no metric,
  // run, experiment or workload.
  static Result<RemoteRead> parse(std::string_view request);
  // kUnprocessable: a limit was met. kUnavailable once `left` is true.
  [[nodiscard]] Result<std::string> answer(const store::Reader& store,
                                           const std::function<bool()>& left) const;

 private:
  struct Parts;
  explicit RemoteRead(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// A name of Prometheus: what it does not allow becomes '_'.
std::string prometheus_name(std::string_view name);

}  // namespace corral::query
