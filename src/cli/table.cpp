#include "cli/table.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/text.h"

namespace corral::cli {
namespace {

// By tone: as it is, green, red.
constexpr std::array<std::string_view, 3> kStyles = {"", "32", "31"};

std::string csv_field(const Json& value) {
  std::string text = value.as_string() != nullptr ? *value.as_string()
                     : value.is_null()            ? ""
                                                  : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Cell plain(const Json& value) {
  std::string text = value.as_string() != nullptr ? *value.as_string()
                     : value.is_null()            ? "–"
                                                  : value.dump();
  return {.value = value, .text = std::move(text)};
}

std::string Table::print(const std::string& format, bool colours) const {
  if (format == "json") return as_json();
  return format == "csv" ? as_csv() : as_text(colours);
}

bool takes_colours(int fd) {
  const char* const unwanted = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return (unwanted == nullptr || *unwanted == '\0') && !dumb && ::isatty(fd) != 0;
}

std::string Table::as_text(bool colours) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(printable(columns_[c].title));
    for (const auto& row : rows_) width = std::max(width, display_width(printable(row[c].text)));
    widths.push_back(width);
  }
  std::string out;
  const auto put = [&](std::size_t c, const std::string& text, std::string_view style) {
    const std::string padding(widths[c] - display_width(text), ' ');
    const std::string styled =
        colours && !style.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
    out += columns_[c].right ? padding + styled : styled + (c + 1 < columns_.size() ? padding : "");
    out += c + 1 < columns_.size() ? "  " : "\n";
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, printable(columns_[c].title), "1");
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      put(c, printable(row[c].text), kStyles[static_cast<std::size_t>(row[c].tone)]);
  }
  return out;
}

std::string Table::as_csv() const {
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    out += (c > 0 ? "," : "") + csv_field(Json(columns_[c].name));
  out += "\n";
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += (c > 0 ? "," : "") + csv_field(row[c].value);
    out += "\n";
  }
  return out;
}

std::string Table::as_json() const {
  Json::Array all;
  for (const auto& row : rows_) {
    Json object{Json::Object{}};
    for (std::size_t c = 0; c < columns_.size(); ++c) object.set(columns_[c].name, row[c].value);
    all.push_back(std::move(object));
  }
  return Json(std::move(all)).dump() + "\n";
}

std::string with_unit(double value, const std::string& unit) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (unit == "B" || unit.starts_with("B/"))
    return (value < 0 ? "-" : "") + human_bytes(std::abs(value)) + unit.substr(1);
  constexpr std::array<std::string_view, 5> kPrefixes = {"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  double scaled = value;
  while (std::abs(scaled) >= 1000 && prefix + 1 < kPrefixes.size() && unit != "s") {
    scaled /= 1000;
    ++prefix;
  }
  std::string text = fmt::format("{:.4g}", scaled);
  const std::string tail =
      std::string(kPrefixes[prefix]) + (unit.starts_with("1/") ? unit.substr(1) : unit);
  return tail.empty() ? text : text + " " + tail;
}

}  // namespace corral::cli
