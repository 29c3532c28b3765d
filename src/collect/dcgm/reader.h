// Reader: the newest values of many fields of many entities, in one call.
//
// A value that the host engine has not renewed since the last read is not given again. Troubles are
// reported once: the values of a lost device or of a host engine that is gone end, anything else is
// missing while it lasts. One thread; no allocation of ours after prepare().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/dcgm/dcgm.h"
#include "collect/dcgm/fields.h"
#include "collect/news.h"
#include "collect/series.h"

namespace corral::collect::dcgm {

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
  struct Asked {
    Target what;
    std::size_t at = 0;  // index of its value
    Column column = kNoColumn;
    std::int64_t time_us = 0;  // time of the value that was given last
    int missed = 0;            // reads in succession without data
    bool told = false;
  };
  Status read();
  const FieldValue* value_of(const Asked& asked) const;
  // Why there is no number; empty when there will be one.
  [[nodiscard]] std::string reason(const Asked& asked) const;
  void take(Asked& asked, Row& row);
  void refuse(Asked& asked, std::string_view reason);
  void end_device(const Asked& asked, Status status);

  const Dcgm* dcgm_;
  std::shared_ptr<News> news_;
  std::vector<Asked> targets_;
  std::vector<Entity> entities_;
  std::vector<FieldId> fields_;
  std::vector<FieldValue> values_;  // values of one entity after the other
  bool over_ = false;               // the host engine is gone
  Status told_ = Status::kOk;       // status of a read that failed
};

}  // namespace corral::collect::dcgm
