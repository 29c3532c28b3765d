#include "collect/foreign/exposition.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "collect/foreign/text.h"
#include "collect/scan.h"
#include "core/text.h"

namespace corral::collect::foreign {
namespace {

enum class Type : std::uint8_t { kUnknown, kCounter, kGauge, kHistogram, kSummary };

struct Family {
  Type type = Type::kUnknown;
  std::string_view unit;
};

using Pairs = std::pair<std::string_view, std::string_view>;

// The end of a name -> the unit as Corral writes it.
constexpr auto kNameUnits = std::to_array<Pairs>({
    {"_seconds", "s"},
    {"_milliseconds", "ms"},
    {"_bytes", "B"},
    {"_celsius", "°C"},
    {"_joules", "J"},
    {"_watts", "W"},
    {"_volts", "V"},
    {"_amperes", "A"},
    {"_hertz", "Hz"},
    {"_ratio", "share"},
    {"_percent", "%"},
    {"_perc", "share"},
    {"_us", "us"},
});
constexpr auto kWrittenUnits = std::to_array<Pairs>({
    {"C", "°C"},
    {"seconds", "s"},
    {"bytes", "B"},
    {"celsius", "°C"},
    {"joules", "J"},
    {"watts", "W"},
    {"ratio", "share"},
    {"percent", "%"},
});

std::string_view written_unit(std::string_view unit) {
  for (const auto& [from, to] : kWrittenUnits) {
    if (unit == from) return to;
  }
  return unit;
}

std::string_view unit_in_name(std::string_view name) {
  for (const std::string_view end : {"_total", "_sum"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  for (const auto& [end, unit] : kNameUnits) {
    if (name.ends_with(end)) return unit;
  }
  return "";
}

// "Power draw (in W)." -> "W"; "(in mJ since boot)" -> "mJ".
std::string_view unit_in_help(std::string_view help) {
  constexpr std::string_view kOpen = "(in ";
  const std::size_t at = help.rfind(kOpen);
  if (at == std::string_view::npos) return "";
  std::string_view unit = help.substr(at + kOpen.size());
  unit = unit.substr(0, unit.find_first_of(") "));
  return unit.size() <= 8 ? written_unit(unit) : "";
}

// The quoted text at the front, without its quotes and escapes; false when it is not closed.
bool take_quoted(std::string_view& rest, std::string& out) {
  if (!rest.starts_with('"')) return false;
  out.clear();
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] != '\\' || i + 1 == rest.size()) {
      out += rest[i];
      continue;
    }
    ++i;
    if (rest[i] == 'n') {
      out += '\n';
    } else {
      if (rest[i] != '"' && rest[i] != '\\') out += '\\';
      out += rest[i];
    }
  }
  return false;
}

// `{a="x",b="y"}` at the front.
bool take_labels(std::string_view& rest, std::vector<Label>& labels) {
  rest.remove_prefix(1);
  for (;;) {
    rest = trim(rest);
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return false;
    Label label{.name = trim(rest.substr(0, equals)), .value = {}};
    rest = trim(rest.substr(equals + 1));
    if (label.name.empty() || !take_quoted(rest, label.value)) return false;
    labels.push_back(std::move(label));
    rest = trim(rest);
    if (rest.starts_with(',')) {
      rest.remove_prefix(1);
    } else if (!rest.starts_with('}')) {
      return false;
    }
  }
}

bool read_sample(std::string_view line, ExpositionSample& sample) {
  const std::size_t end = line.find_first_of("{ \t");
  if (end == 0 || end == std::string_view::npos) return false;
  sample.name = line.substr(0, end);
  std::string_view rest = trim(line.substr(end));
  if (rest.starts_with('{') && !take_labels(rest, sample.labels)) return false;
  Scanner words(rest.substr(0, rest.find('#')));  // without an exemplar
  const auto value = read_number(words.word());
  if (!value) return false;
  sample.value = *value;
  const std::string_view time = words.word();
  if (time.empty()) return true;
  const auto stamp = read_number(time);
  if (!stamp || !words.word().empty()) return false;
  // OpenMetrics counts seconds with a fraction.
  sample.time_ms = to_step(time.find('.') == std::string_view::npos ? *stamp : *stamp * 1000);
  return true;
}

class Reader {
 public:
  void comment(std::string_view line);
  // False when it is not recorded.
  bool classify(ExpositionSample& sample) const;

 private:
  [[nodiscard]] std::pair<const Family*, std::string_view> find_family(std::string_view name) const;
  std::unordered_map<std::string_view, Family> families_;
};

void Reader::comment(std::string_view line) {
  Scanner words(line.substr(1));
  const std::string_view keyword = words.word();
  const std::string_view name = words.word();
  const std::string_view text = trim(words.line());
  if (name.empty()) return;
  if (keyword == "TYPE") {
    Type& type = families_[name].type;
    if (text == "counter") type = Type::kCounter;
    if (text == "gauge") type = Type::kGauge;
    if (text == "histogram") type = Type::kHistogram;
    if (text == "summary") type = Type::kSummary;
  } else if (keyword == "UNIT") {
    families_[name].unit = written_unit(text);
  } else if (keyword == "HELP") {
    if (Family& family = families_[name]; family.unit.empty()) family.unit = unit_in_help(text);
  }
}

// The family of a sample, and the part of its name beyond the family's; null: no family was named.
std::pair<const Family*, std::string_view> Reader::find_family(std::string_view name) const {
  if (const auto found = families_.find(name); found != families_.end())
    return {&found->second, ""};
  for (const std::string_view end : {"_total", "_sum", "_count", "_bucket", "_created"}) {
    if (!name.ends_with(end)) continue;
    const auto found = families_.find(name.substr(0, name.size() - end.size()));
    if (found != families_.end()) return {&found->second, end};
  }
  return {nullptr, ""};
}

bool Reader::classify(ExpositionSample& sample) const {
  const auto [family, end] = find_family(sample.name);
  const Type type = family != nullptr ? family->type : Type::kUnknown;
  if (end == "_bucket" || end == "_created") return false;
  const bool parts = type == Type::kHistogram || type == Type::kSummary;
  const bool counts =
      parts ? end == "_sum" || end == "_count"
            : type == Type::kCounter || (type == Type::kUnknown && sample.name.ends_with("_total"));
  sample.kind = counts ? metric::Kind::kCounter : metric::Kind::kGauge;
  if (end == "_count") return true;
  sample.unit =
      family != nullptr && !family->unit.empty() ? family->unit : unit_in_name(sample.name);
  return true;
}

}  // namespace

ExpositionSummary read_exposition(std::string_view text,
                                  const std::function<void(ExpositionSample&)>& take) {
  ExpositionSummary summary;
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (line.front() == '#') {
      reader.comment(line);
      continue;
    }
    ExpositionSample sample;
    if (!read_sample(line, sample)) {
      if (summary.bad++ == 0) summary.first_bad = line;
      continue;
    }
    ++summary.samples;
    if (reader.classify(sample)) take(sample);
  }
  return summary;
}

}  // namespace corral::collect::foreign
