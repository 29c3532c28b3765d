#include "cli/config_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/config_keys.h"
#include "core/text.h"
#include "core/time.h"

namespace corral::cli {
namespace {

tl::unexpected<Error> invalid(std::string what) {
  return fail(Code::kInvalidArgument, std::move(what));
}

constexpr std::string_view kBlanks = " \t\r\n";

class ValueReader {
 public:
  explicit ValueReader(std::string_view text) : rest_(text) {}

  Result<TomlValue> value() {
    TomlValue value;
    skip();
    if (rest_.empty()) return invalid("has no value");
    if (rest_.front() == '[') {
      value.array = true;
      TRY(array(value.items));
    } else {
      value.items.push_back(TRY(item()));
    }
    skip();
    if (!rest_.empty()) return invalid("has something after its value");
    return value;
  }

  bool array_is_open() {
    skip();
    if (rest_.empty() || rest_.front() != '[') return false;
    std::vector<std::string> items;
    [[maybe_unused]] const auto read = array(items);
    return open_;
  }

 private:
  // Blanks, line ends and comments.
  void skip() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
      if (rest_.empty() || rest_.front() != '#') return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  Result<> array(std::vector<std::string>& items) {
    rest_.remove_prefix(1);
    for (;;) {
      skip();
      if (rest_.empty()) {
        open_ = true;
        return invalid("has a bracket that is not closed");
      }
      if (rest_.front() == ']') break;
      items.push_back(TRY(item()));
      skip();
      if (!rest_.empty() && rest_.front() == ',') {
        rest_.remove_prefix(1);
      } else if (!rest_.empty() && rest_.front() != ']') {
        return invalid("needs a comma between the items of its array");
      }
    }
    rest_.remove_prefix(1);
    return {};
  }

  Result<std::string> item() {
    const char first = rest_.front();
    if (first == '"') return basic();
    if (first == '\'') return literal();
    const std::size_t end = std::min(rest_.find_first_of(" \t\r\n,]#"), rest_.size());
    if (end == 0 || rest_.substr(0, end).find_first_of("[{\"'=") != std::string_view::npos)
      return invalid("has a value that is not a text, a number or an array of texts");
    return std::string(take(end));
  }

  Result<std::string> literal() {
    const std::size_t end = rest_.find_first_of("'\n", 1);
    if (end == std::string_view::npos || rest_[end] != '\'')
      return invalid("has a quote that is not closed");
    const std::string_view quoted = take(end + 1);
    return std::string(quoted.substr(1, quoted.size() - 2));
  }

  Result<std::string> basic() {
    std::string text;
    for (std::size_t i = 1; i < rest_.size() && rest_[i] != '\n'; ++i) {
      if (rest_[i] == '"') {
        take(i + 1);
        return text;
      }
      if (rest_[i] != '\\') {
        text += rest_[i];
        continue;
      }
      constexpr std::string_view kLetters = "\"\\ntr";
      constexpr std::string_view kMeant = "\"\\\n\t\r";
      const std::size_t which = ++i < rest_.size() ? kLetters.find(rest_[i]) : kLetters.npos;
      if (which == kLetters.npos)
        return invalid(
            "has an unknown escape in its \"text\": a 'text' takes backslashes as they are");
      text += kMeant[which];
    }
    return invalid("has a quote that is not closed");
  }

  std::string_view take(std::size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
  bool open_ = false;
};

}  // namespace

bool is_open_array(std::string_view value) { return ValueReader(value).array_is_open(); }

Result<TomlValue> parse_toml_value(std::string_view text) { return ValueReader(text).value(); }

namespace {

// A value without its comment, and how it is written.
struct ScannedValue {
  std::string text;
  bool open = false;       // a quote or bracket is not closed
  bool hash = false;       // a # within quotes, which the reader takes for a comment
  std::size_t quotes = 0;  // quoted texts outside arrays
};

// Looks at one character outside quotes; false: the comment begins.
bool scan_plain(char c, ScannedValue& value, char& quote, int& depth) {
  if (c == '#') return false;
  if (c == '"' || c == '\'') {
    quote = c;
    if (depth == 0) ++value.quotes;
  }
  if (c == '[') ++depth;
  if (c == ']') --depth;
  return true;
}

ScannedValue scan_value(std::string_view text) {
  ScannedValue value;
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0) {
      if (!scan_plain(c, value, quote, depth)) {
        text = text.substr(0, i);
        break;
      }
    } else if (c == '\\' && quote == '"') {
      ++i;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '#') {
      value.hash = true;
    }
  }
  value.text = trim(text);
  value.open = quote != 0 || depth != 0;
  return value;
}

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_.\"'").find(c) != std::string_view::npos;
  });
}

// Returns the problem of the value; empty: none.
std::string_view value_fault(const ScannedValue& value) {
  if (value.open) return "has a quote or bracket that is not closed";
  if (value.text.empty()) return "has no value";
  if (value.hash) return "has a # in its value, which begins a comment";
  const char first = value.text.front();
  const char last = value.text.back();
  if (first == '[') return last == ']' ? "" : "has something after its value";
  if (first == '"' || first == '\'')
    return value.quotes == 1 && last == first ? "" : "has something after its value";
  if (value.quotes > 0 || value.text.find_first_of(" \t") != std::string::npos)
    return "has several words: put the value in quotes";
  return "";
}

// `line` begins it; takes more lines of `in` while an array is open, counting them.
std::string_view line_fault(std::string_view line, std::istream& in, int& number) {
  if (line.front() == '[') {
    const std::string section = scan_value(line).text;
    // The reader needs it alone on its line.
    const bool good =
        section == line && line.back() == ']' && is_key(line.substr(1, line.size() - 2));
    return good ? "" : "is not a section: expected [name], alone on its line";
  }
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || !is_key(trim(line.substr(0, equals))))
    return "is neither [section] nor option = value";
  std::string text(trim(line.substr(equals + 1)));
  std::string more;
  while (text.starts_with('[') && scan_value(text).open && std::getline(in, more)) {
    text = scan_value(text).text + scan_value(more).text;
    ++number;
  }
  return value_fault(scan_value(text));
}

}  // namespace

Result<std::vector<ConfigLine>> read_config_lines(std::istream& in) {
  std::vector<ConfigLine> lines;
  std::string section;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    const std::string_view line = trim(text);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const int first = number;
    const std::string_view fault = line_fault(line, in, number);
    if (!fault.empty()) return invalid(fmt::format("{}: '{}' {}", first, line, fault));
    const bool opens = line.front() == '[';
    if (opens) section = line.substr(1, line.size() - 2);
    std::string option(opens ? "" : trim(line.substr(0, line.find('='))));
    std::erase_if(option, [](char c) { return c == '"' || c == '\''; });
    lines.push_back({.number = first, .section = section, .option = std::move(option)});
  }
  return lines;
}

namespace {

namespace foreign = collect::foreign;

// Sets an option of a source; the overloads parse its type.
Result<> set_value(std::string& to, const TomlValue& value) {
  if (value.array) return invalid("expected one text");
  to = value.items[0];
  return {};
}
Result<> set_value(std::vector<std::string>& to, const TomlValue& value) {
  to = value.items;
  return {};
}
Result<> set_value(Nanos& to, const TomlValue& value) {
  to = value.array ? kNoDuration : parse_duration(value.items[0]);
  if (to == kNoDuration) return invalid("expected a duration, e.g. 100ms, 2s, 1.5m");
  return {};
}
Result<> set_value(std::uint32_t& to, const TomlValue& value) {
  const auto number = value.array ? std::nullopt : parse_int(value.items[0]);
  if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max())
    return invalid("expected a whole number");
  to = static_cast<std::uint32_t>(*number);
  return {};
}
Result<> set_value(std::optional<double>& to, const TomlValue& value) {
  to = value.array ? std::nullopt : parse_double(value.items[0]);
  if (!to) return invalid("expected a number");
  return {};
}
Result<> set_value(foreign::Format& to, const TomlValue& value) {
  std::string text;
  TRY(set_value(text, value));
  to = TRY(foreign::parse_format(text));
  return {};
}
Result<> set_value(foreign::Stream& to, const TomlValue& value) {
  std::string text;
  TRY(set_value(text, value));
  to = TRY(foreign::parse_stream(text));
  return {};
}
Result<> set_value(metric::Owner& to, const TomlValue& value) {
  std::string text;
  TRY(set_value(text, value));
  to = TRY(foreign::parse_owner(text));
  return {};
}
// ["OLD = NEW", ...]
Result<> set_value(std::vector<std::pair<std::string, std::string>>& to, const TomlValue& value) {
  for (const std::string& item : value.items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos)
      return invalid("expected texts such as \"old_name = new.name\"");
    to.emplace_back(trim(std::string_view(item).substr(0, equals)),
                    trim(std::string_view(item).substr(equals + 1)));
  }
  return {};
}

template <class Source>
struct Key {
  std::string_view name;
  Result<> (*apply)(Source&, const TomlValue&);
};

template <auto Member, class Source>
Result<> apply(Source& source, const TomlValue& value) {
  return set_value(source.*Member, value);
}

using Exec = foreign::ExecSource;
constexpr auto kExecKeys = std::to_array<Key<Exec>>(
    {{"command",
      [](Exec& source, const TomlValue& value) {
        return value.array ? set_value(source.argv, value) : set_value(source.command, value);
      }},
     {"format", apply<&Exec::format>},
     {"prefix", apply<&Exec::prefix>},
     {"source-key", apply<&Exec::source_key>},
     {"interval", apply<&Exec::interval>},
     {"max-points-per-s", apply<&Exec::max_points_per_s>},
     {"max-series", apply<&Exec::max_series>}});

using Prometheus = foreign::PrometheusSource;
constexpr auto kPrometheusKeys =
    std::to_array<Key<Prometheus>>({{"url", apply<&Prometheus::url>},
                                    {"interval", apply<&Prometheus::interval>},
                                    {"timeout", apply<&Prometheus::timeout>},
                                    {"keep", apply<&Prometheus::keep>},
                                    {"drop", apply<&Prometheus::drop>},
                                    {"rename", apply<&Prometheus::rename>},
                                    {"prefix", apply<&Prometheus::prefix>},
                                    {"labels", apply<&Prometheus::labels>},
                                    {"owner", apply<&Prometheus::owner>},
                                    {"max-series", apply<&Prometheus::max_series>}});

using Regex = foreign::RegexSource;
constexpr auto kRegexKeys =
    std::to_array<Key<Regex>>({{"pattern", apply<&Regex::pattern>},
                               {"stream", apply<&Regex::stream>},
                               {"unit", apply<&Regex::unit>},
                               {"prefix", apply<&Regex::prefix>},
                               {"max-points-per-s", apply<&Regex::max_points_per_s>},
                               {"max-series", apply<&Regex::max_series>}});

using Statsd = foreign::StatsdSource;
constexpr auto kStatsdKeys =
    std::to_array<Key<Statsd>>({{"listen", apply<&Statsd::listen>},
                                {"prefix", apply<&Statsd::prefix>},
                                {"max-points-per-s", apply<&Statsd::max_points_per_s>},
                                {"max-series", apply<&Statsd::max_series>}});

using Otlp = foreign::OtlpSource;
constexpr auto kOtlpKeys =
    std::to_array<Key<Otlp>>({{"listen", apply<&Otlp::listen>},
                              {"keep", apply<&Otlp::keep>},
                              {"drop", apply<&Otlp::drop>},
                              {"rename", apply<&Otlp::rename>},
                              {"prefix", apply<&Otlp::prefix>},
                              {"labels", apply<&Otlp::labels>},
                              {"max-points-per-s", apply<&Otlp::max_points_per_s>},
                              {"max-series", apply<&Otlp::max_series>}});

using Pressure = collect::StallOptions;
constexpr auto kPressureKeys =
    std::to_array<Key<Pressure>>({{"resources", apply<&Pressure::resources>},
                                  {"stall", apply<&Pressure::stall>},
                                  {"window", apply<&Pressure::window>}});

using Prices = foreign::FootprintPrices;
constexpr auto kPriceKeys =
    std::to_array<Key<Prices>>({{"pue", apply<&Prices::pue>},
                                {"intensity-g-per-kwh", apply<&Prices::intensity>},
                                {"intensity-source", apply<&Prices::intensity_source>},
                                {"intensity-year", apply<&Prices::intensity_year>},
                                {"price-per-kwh", apply<&Prices::per_kwh>},
                                {"price-per-hour", apply<&Prices::per_hour>},
                                {"currency", apply<&Prices::currency>}});

struct OptionLine {
  std::string_view option;
  TomlValue value;
};

template <class Source>
Result<> apply_line(std::span<const Key<Source>> keys, Source& source, const OptionLine& line) {
  const auto key = std::ranges::find(keys, line.option, &Key<Source>::name);
  if (key == keys.end()) {
    std::vector<std::string_view> known;
    for (const Key<Source>& k : keys) known.push_back(k.name);
    return invalid(
        fmt::format("has no option '{}'{}", line.option, did_you_mean(line.option, known)));
  }
  if (const auto applied = key->apply(source, line.value); !applied)
    return invalid(fmt::format("{}: {}", line.option, applied.error().message));
  return {};
}

// The name within "[name]"; nothing for a line that opens no section.
std::optional<std::string_view> section_title(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  return trim(line.substr(1, end - 1));
}

std::string_view section_kind(std::string_view section) {
  return section.substr(0, section.find('.'));
}

bool is_source(std::string_view section) {
  return source_counts(section_kind(section)).has_value();
}

// Calls `visit` with the name of each kind and its member of Sources.
template <class Visit>
void for_each_kind(const Visit& visit) {
  visit("exec", &foreign::Sources::exec);
  visit("prometheus", &foreign::Sources::prometheus);
  visit("statsd", &foreign::Sources::statsd);
  visit("otlp", &foreign::Sources::otlp);
  visit("regex", &foreign::Sources::regex);
  visit("pressure", &foreign::Sources::pressure);
  visit("footprint", &foreign::Sources::footprint);
}

// Its name; of a kind that is there once at most: empty.
template <class Source>
std::string source_name(const Source& source) {
  if constexpr (requires(Source s) { s.name; }) return source.name;
  return {};
}

// One source as its section is read.
class SourceSection {
 public:
  static Result<SourceSection> begin(std::string_view title, foreign::Sources& sources) {
    const std::string_view kind = section_kind(title);
    const std::string name(title.size() > kind.size() ? title.substr(kind.size() + 1) : "");
    SourceSection section;
    if (kind == "statsd") {
      if (!name.empty() || !sources.statsd.empty()) return invalid("is [statsd], once");
      section.open<Statsd>(sources.statsd, name, kStatsdKeys);
      return section;
    }
    if (kind == "pressure") {
      if (!name.empty() || !sources.pressure.empty()) return invalid("is [pressure], once");
      section.open<Pressure>(sources.pressure, name, kPressureKeys);
      return section;
    }
    if (kind == "footprint") {
      if (!name.empty() || !sources.footprint.empty()) return invalid("is [footprint], once");
      section.open<Prices>(sources.footprint, name, kPriceKeys);
      return section;
    }
    if (name.empty()) return invalid(fmt::format("needs a name: [{}.NAME]", kind));
    if (kind == "exec") section.open<Exec>(sources.exec, name, kExecKeys);
    if (kind == "prometheus") section.open<Prometheus>(sources.prometheus, name, kPrometheusKeys);
    if (kind == "regex") section.open<Regex>(sources.regex, name, kRegexKeys);
    if (kind == "otlp") section.open<Otlp>(sources.otlp, name, kOtlpKeys);
    return section;
  }

  [[nodiscard]] Result<> apply(const OptionLine& line) const { return apply_(line); }
  [[nodiscard]] Result<> check() const { return check_(); }

 private:
  template <class Source>
  void open(std::vector<Source>& list, const std::string& name, std::span<const Key<Source>> keys) {
    list.emplace_back();
    if constexpr (requires(Source s) { s.name; }) list.back().name = name;
    apply_ = [&list, keys](const OptionLine& line) { return apply_line(keys, list.back(), line); };
    check_ = [&list] {
      using foreign::check;
      return check(list.back());
    };
  }

  std::function<Result<>(const OptionLine&)> apply_;
  std::function<Result<>()> check_;
};

class SourceReader {
 public:
  SourceReader(std::string_view text, const std::string& file)
      : lines_(split(text, '\n')), file_(file) {}

  Result<foreign::Sources> read() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const std::string_view line = trim(lines_[at_]);
      if (line.empty() || line.front() == '#' || line.front() == ';') continue;
      const std::size_t number = at_ + 1;
      if (const auto title = section_title(line)) {
        TRY(end());
        TRY(named(number, begin(*title, line)));
      } else if (section_) {
        TRY(named(number, option(line)));
      }
    }
    TRY(end());
    return std::move(sources_);
  }

 private:
  Result<> begin(std::string_view title, std::string_view line) {
    section_.reset();
    if (!is_source(title)) {
      const std::string near = did_you_mean(section_kind(title), source_kinds());
      if (title.find('.') != std::string_view::npos && !near.empty())
        return invalid(fmt::format("unknown source [{}]{}", title, near));
      return {};
    }
    title_ = title;
    begun_ = at_ + 1;
    const std::string_view after = trim(line.substr(line.find(']') + 1));
    if (!after.empty() && after.front() != '#')
      return invalid(fmt::format("[{}] must be alone on its line", title));
    if (!seen_.insert(std::string(title)).second)
      return invalid(fmt::format("[{}] is there twice", title));
    options_.clear();
    section_ = TRY(titled(SourceSection::begin(title, sources_)));
    return {};
  }

  Result<> option(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return invalid(fmt::format("'{}' is neither [section] nor option = value", line));
    const std::string_view key = trim(line.substr(0, equals));
    std::string text(line.substr(equals + 1));
    while (is_open_array(text) && at_ + 1 < lines_.size()) {
      text += '\n';
      text += lines_[++at_];
    }
    auto value = parse_toml_value(text);
    if (!value) return invalid(fmt::format("[{}] {} {}", title_, key, value.error().message));
    if (!options_.insert(std::string(key)).second)
      return invalid(fmt::format("[{}] {} is there twice", title_, key));
    return titled(section_->apply({.option = key, .value = std::move(*value)}));
  }

  // The section is complete.
  Result<> end() {
    if (!section_) return {};
    return named(begun_, titled(std::exchange(section_, std::nullopt)->check()));
  }

  template <class T>
  Result<T> titled(Result<T> result) const {
    if (!result) return invalid(fmt::format("[{}] {}", title_, result.error().message));
    return result;
  }
  template <class T>
  Result<T> named(std::size_t line, Result<T> result) const {
    if (!result) return invalid(fmt::format("{}:{}: {}", file_, line, result.error().message));
    return result;
  }

  std::vector<std::string_view> lines_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::string_view title_;
  std::size_t begun_ = 0;
  std::optional<SourceSection> section_;
  std::set<std::string> seen_;
  std::set<std::string> options_;
  foreign::Sources sources_;
};

}  // namespace

Result<foreign::Sources> read_sources(std::string_view text, const std::string& file) {
  foreign::Sources sources = TRY(SourceReader(text, file).read());
  if (const auto good = foreign::check(sources); !good)
    return invalid(fmt::format("{}: {}", file, good.error().message));
  return sources;
}

std::vector<std::string> remove_untrusted(foreign::Sources& sources) {
  std::vector<std::string> taken;
  for_each_kind([&](std::string_view kind, auto member) {
    if (source_counts(kind) == Counts::kAlways) return;
    for (const auto& source : sources.*member) {
      const std::string name = source_name(source);
      taken.push_back(fmt::format("[{}{}{}]", kind, name.empty() ? "" : ".", name));
    }
    (sources.*member).clear();
  });
  return taken;
}

void merge_sources(foreign::Sources& into, foreign::Sources stronger) {
  for_each_kind([&](std::string_view, auto member) {
    auto& list = into.*member;
    for (auto& source : stronger.*member) {
      std::erase_if(list,
                    [&](const auto& weaker) { return source_name(weaker) == source_name(source); });
      list.push_back(std::move(source));
    }
  });
}

std::string without_sources(std::string_view text) {
  std::string rest;
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto title = section_title(trim(line))) inside = is_source(*title);
    if (!inside) rest += line;
    rest += '\n';
  }
  return rest;
}

}  // namespace corral::cli
