// Reader: the newest values of many fields of many entities, in one call.
//
// A value that the host engine has not renewed since the last read is not given again. Troubles are
// reported once: the values of a lost device or of a host engine that is gone end, anything else is
// missing while it lasts. One thread; no allocation of ours after prepare().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/dcgm/dcgm.h"
#include "collect/dcgm/dcgm_types.h"
#include "collect/news.h"
#include "collect/series.h"

namespace corral::collect::dcgm {

// The fields requested from DCGM: its numbers of fields, and the metric of each, in SI units. The
// names are those of the same quantities from NVML and GPM.
struct Field {
  FieldId id;
  std::string_view metric;
  double scale = 1;
};
// Activity of a GPU's units, from the profiling module.
std::span<const Field> profiling_fields();
// The same of a GPU instance (MIG).
std::span<const Field> instance_fields();
// Fields that NVML provides elsewhere, read at every tick and once a second.
std::span<const Field> device_fields();
std::span<const Field> slow_device_fields();

inline constexpr FieldId kNvmlIndex = 52;
inline constexpr FieldId kUuid = 54;

// The number in a value, NaN for one that has none; `blank` says why.
double read_number(const FieldValue& value, Blank& blank);
std::string_view words(Blank blank);

class Reader {
 public:
  struct Target {
    Entity entity;
    Field field;
    std::string source;  // "gpu0"
  };
  Reader(const Dcgm& dcgm, std::shared_ptr<News> news) : dcgm_(&dcgm), news_(std::move(news)) {}

  void add(Target target) { targets_.push_back({.what = std::move(target)}); }
  [[nodiscard]] bool empty() const { return targets_.empty(); }
  // After the last add(): reads once and declares the series that have, or will have, values; the
  // rest is reported to the table.
  void prepare(SeriesTable& table);
  void sample(Row& row);

 private:
  struct Requested {
    Target what;
    std::size_t at = 0;  // index of its value
    Column column = kNoColumn;
    std::int64_t time_us = 0;  // time of the value that was given last
    int missed = 0;            // reads in succession without data
    bool reported = false;
  };
  Status read();
  const FieldValue* find_value(const Requested& requested) const;
  // Why there is no number; empty when there will be one.
  [[nodiscard]] std::string reason(const Requested& requested) const;
  void set_value(Requested& requested, Row& row);
  void report_missing(Requested& requested, std::string_view reason);
  void end_device(const Requested& requested, Status status);

  const Dcgm* dcgm_;
  std::shared_ptr<News> news_;
  std::vector<Requested> targets_;
  std::vector<Entity> entities_;
  std::vector<FieldId> fields_;
  std::vector<FieldValue> values_;  // values of one entity after the other
  bool over_ = false;               // the host engine is gone
  Status reported_ = Status::kOk;   // status of a read that failed
};

}  // namespace corral::collect::dcgm
