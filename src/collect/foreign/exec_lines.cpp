#include "collect/foreign/exec_lines.h"

#include <algorithm>

#include "collect/foreign/text.h"
#include "collect/scan.h"
#include "core/text.h"

namespace corral::collect::foreign {
namespace {

constexpr std::string_view kStep = "step";
constexpr int kDepth = 8;

// "name value [unit]"
std::optional<Reading> parse_plain(std::string_view line) {
  Scanner words(line);
  Reading reading{.name = words.word()};
  const auto value = read_number(words.word());
  reading.unit = words.word();
  if (!value || !words.word().empty()) return std::nullopt;
  reading.value = *value;
  return reading;
}

// NaN and infinities outside of strings, which JSON has not but Python's writer prints, in quotes.
std::string quote_not_finite(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
      out += text[i];
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    bool replaced = false;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
      if (quoted || replaced || !text.substr(i).starts_with(word)) continue;
      out.append("\"").append(word).append("\"");
      i += word.size() - 1;
      replaced = true;
    }
    if (!replaced) out += text[i];
  }
  return out;
}

std::optional<double> to_number(const Json& value) {
  if (value.as_int() != nullptr || value.is_double()) return value.as_double(0);
  if (const bool* b = value.as_bool()) return *b ? 1 : 0;
  if (const std::string* s = value.as_string()) {
    if (*s == "NaN" || *s == "Infinity" || *s == "-Infinity") return read_number(*s);
  }
  return std::nullopt;
}

std::string to_text(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  if (const std::string* s = value->as_string()) return *s;
  return value->as_object() == nullptr && value->as_array() == nullptr ? value->dump() : "";
}

// Fields that all values of a line share.
struct Line {
  std::string source;
  std::optional<std::int64_t> step;
  const ExecLines::Take& take;
  bool any = false;
};

void walk(const Json& value, const std::string& path, int depth, Line& line) {
  if (const auto number = to_number(value)) {
    line.take({.name = path, .source = line.source, .step = line.step, .value = *number});
    line.any = true;
    return;
  }
  if (depth >= kDepth) return;
  const std::string before = path.empty() ? path : path + ".";
  if (const auto* object = value.as_object()) {
    for (const auto& [key, member] : *object) walk(member, before + key, depth + 1, line);
  } else if (const auto* array = value.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      walk((*array)[i], before + std::to_string(i), depth + 1, line);
  }
}

// {"name": ..., "value": ...}
bool read_named(const Json& object, Line& line) {
  const auto value = to_number(*object.find("value"));
  const std::string name = object.get_string("name");
  if (!value || name.empty()) return false;
  const std::string unit = object.get_string("unit");
  line.take({.name = name,
             .source = line.source,
             .unit = unit,
             .kind = object.get_string("kind") == "counter" ? metric::Kind::kCounter
                                                            : metric::Kind::kGauge,
             .step = line.step,
             .value = *value});
  return true;
}

// The fields of a CSV line, without blanks around; quotes as in RFC 4180.
void split_csv(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  std::size_t at = 0;
  for (bool more = true; more;) {
    std::string field;
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size() && (line[at] != '"' || line.substr(at).starts_with("\"\"")); ++at)
        field += line[at] == '"' ? line[at++] : line[at];
      ++at;
    }
    const std::size_t comma = std::min(line.find(',', std::min(at, line.size())), line.size());
    if (at < comma) field += trim(line.substr(at, comma - at));
    fields.push_back(std::move(field));
    more = comma < line.size();
    at = comma + 1;
  }
}

// "power.draw [W]": a name without blanks, and a unit.
bool is_column(std::string_view field) {
  const std::string_view name =
      trim(field.substr(0, field.ends_with(']') ? field.rfind('[') : field.npos));
  return !name.empty() && !read_number(name) && is_utf8(name) &&
         std::ranges::none_of(name, [](char c) { return (c >= 0 && c <= ' ') || c == '\x7f'; });
}

}  // namespace

bool ExecLines::read(std::string_view line, const Take& take) {
  line = trim(line);
  if (line.empty() || line.front() == '#') return true;
  const bool guessed = format_ == Format::kAuto;
  if (guessed) format_ = guess_format(line);
  switch (format_) {
    case Format::kJson:
      if (read_json(line, take)) return true;
      if (guessed) format_ = Format::kAuto;  // garbage that begins with a bracket
      return false;
    case Format::kCsv:
      return read_csv(line, take);
    case Format::kPlain:
      if (const auto reading = parse_plain(line)) {
        take(*reading);
        return true;
      }
      return false;
    case Format::kAuto:
      break;
  }
  return false;
}

// kAuto for a line that fits no format: a greeting, garbage.
Format ExecLines::guess_format(std::string_view line) {
  if (line.front() == '{') return Format::kJson;
  if (parse_plain(line)) return Format::kPlain;
  split_csv(line, fields_);
  return fields_.size() > 1 && std::ranges::all_of(fields_, is_column) ? Format::kCsv
                                                                       : Format::kAuto;
}

bool ExecLines::read_json(std::string_view line, const Take& take) const {
  auto parsed = Json::parse(line);
  if (!parsed) parsed = Json::parse(quote_not_finite(line));
  if (!parsed || parsed->as_object() == nullptr) return false;
  Line shared{.source = to_text(parsed->find(source_key_)), .step = {}, .take = take};
  if (const Json* step = parsed->find(kStep)) {
    if (const auto number = to_number(*step)) shared.step = to_step(*number);
  }
  if (parsed->find("name") != nullptr && parsed->find("value") != nullptr)
    return read_named(*parsed, shared);
  for (const auto& [key, member] : *parsed->as_object()) {
    if (key != kStep && key != source_key_ && key != "time" && key != "timestamp")
      walk(member, key, 1, shared);
  }
  return shared.any;
}

bool ExecLines::read_csv(std::string_view line, const Take& take) {
  split_csv(line, fields_);
  if (!columns_.empty()) return read_row(take);
  read_header();
  return true;
}

void ExecLines::read_header() {
  for (const std::string& field : fields_) {
    const std::string_view text = field;
    const std::size_t open = text.ends_with(']') ? text.rfind('[') : text.npos;
    Column column{.name = std::string(trim(text.substr(0, open))), .unit = {}};
    if (open != text.npos) column.unit = text.substr(open + 1, text.size() - open - 2);
    if (column.name == "time" || column.name == "timestamp") column.name.clear();
    columns_.push_back(std::move(column));
  }
}

bool ExecLines::read_row(const Take& take) const {
  if (fields_.size() != columns_.size()) return false;
  std::string_view source;
  std::optional<std::int64_t> step;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (columns_[i].name == source_key_) source = fields_[i];
    if (columns_[i].name != kStep) continue;
    if (const auto number = read_number(fields_[i])) step = to_step(*number);
  }
  bool any = false;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Column& column = columns_[i];
    if (column.name.empty() || column.name == source_key_ || column.name == kStep) continue;
    const auto number = read_number_with_unit(fields_[i]);
    if (!number) continue;
    any = true;
    take({.name = column.name,
          .source = source,
          .unit = column.unit.empty() ? number->unit : std::string_view(column.unit),
          .step = step,
          .value = number->value});
  }
  return any;
}

}  // namespace corral::collect::foreign
