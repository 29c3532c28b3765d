#include "collect/foreign/statsd_packet.h"

#include "collect/foreign/numbers.h"
#include "core/text.h"

namespace corral::collect::foreign {
namespace {

struct Fields {
  std::string_view type;
  std::string_view tags;
  double rate = 1;
};

// Reads the part after the values: "c|@0.1|#a:b".
bool read_fields(std::string_view text, Fields& fields) {
  bool first = true;
  for (const std::string_view part : split(text, '|')) {
    if (first) {
      fields.type = part;
    } else if (part.starts_with('@')) {
      const auto rate = read_number(part.substr(1));
      if (!rate || !(*rate > 0 && *rate <= 1)) return false;
      fields.rate = *rate;
    } else if (part.starts_with('#')) {
      fields.tags = part.substr(1);
    }
    first = false;
  }
  return true;
}

bool kind_of(std::string_view type, StatsdKind& kind) {
  if (type == "g") {
    kind = StatsdKind::kGauge;
  } else if (type == "c" || type == "m") {
    kind = StatsdKind::kCount;
  } else if (type == "ms") {
    kind = StatsdKind::kTime;
  } else if (type == "h" || type == "d") {
    kind = StatsdKind::kValue;
  } else {
    return false;
  }
  return true;
}

bool read_line(std::string_view line, const std::function<void(const StatsdMetric&)>& take) {
  const std::size_t colon = line.find(':');
  const std::size_t bar = line.find('|');
  if (colon == 0 || bar == std::string_view::npos || colon > bar) return false;
  Fields fields;
  StatsdMetric metric{.name = trim(line.substr(0, colon)), .tags = {}};
  if (metric.name.empty() || !read_fields(line.substr(bar + 1), fields) ||
      !kind_of(fields.type, metric.kind))
    return false;
  metric.tags = fields.tags;
  for (const std::string_view text : split(line.substr(colon + 1, bar - colon - 1), ':')) {
    const auto value = read_number(text);
    if (!value) return false;
    metric.value = *value;
    const bool sign = text.front() == '+' || text.front() == '-';
    StatsdMetric one = metric;
    if (one.kind == StatsdKind::kGauge && sign) one.kind = StatsdKind::kGaugeChange;
    if (one.kind == StatsdKind::kCount) one.value /= fields.rate;
    if (one.kind == StatsdKind::kTime) one.value /= 1000;
    take(one);
  }
  return true;
}

}  // namespace

std::size_t read_statsd(std::string_view datagram,
                        const std::function<void(const StatsdMetric&)>& take) {
  std::size_t bad = 0;
  for (const std::string_view part : split(datagram, '\n')) {
    const std::string_view line = trim(part);
    if (!line.empty() && !read_line(line, take)) ++bad;
  }
  return bad;
}

}  // namespace corral::collect::foreign
