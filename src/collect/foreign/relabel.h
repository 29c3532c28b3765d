// Relabel: which of an endpoint's samples are recorded, by what name and as which source.
//
// Names are decided once and kept. Unless the configuration names labels, as few are chosen as tell
// the endpoint's series apart: of dcgm-exporter's gpu, UUID, pci_bus_id, device, modelName,
// Hostname, ... with two GPUs only gpu stays. One thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/exposition.h"
#include "collect/foreign/pattern.h"
#include "core/result.h"

namespace corral::collect::foreign {

// Samples of one answer that were dropped: how many, and the name of the first.
struct Repeated {
  struct Samples {
    std::size_t count = 0;
    std::string_view example;
  };
  Samples twice;   // the series had a sample of that time before
  Samples merged;  // the labels do not tell the series from an earlier one
};

class Relabel {
 public:
  static Result<Relabel> create(const PrometheusSource& source);

  // Valid until the next call; empty: not recorded.
  std::string_view name(std::string_view name);
  // Chooses labels when two series of these samples, all of one answer, would become one.
  void choose(std::span<const ExpositionSample> samples);
  // After choose(): drops what would be a second sample of a series at its time and, where labels
  // cannot tell them apart, the second series. The first is kept, as Prometheus does.
  Repeated drop_repeated(std::vector<ExpositionSample>& samples);
  // "gpu=0,model=opt"
  [[nodiscard]] std::string source(const ExpositionSample& sample) const;

 private:
  using Patterns = std::vector<std::unique_ptr<const re2::RE2>>;
  explicit Relabel(PrometheusSource source);
  [[nodiscard]] std::string decide(std::string_view name) const;
  [[nodiscard]] bool tells_apart(std::span<const ExpositionSample> samples,
                                 const std::vector<std::string>& labels);

  PrometheusSource source_;
  Patterns keep_;
  Patterns drop_;
  std::vector<std::string> labels_;  // chosen
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace corral::collect::foreign
