#include "imports/event_media.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "codec/protobuf.h"
#include "core/json.h"

namespace corral::imports {
namespace {

using codec::ProtoField;
using codec::ProtoReader;
using codec::ProtoWire;

constexpr std::size_t kMostBins = 4096;

struct Signature {
  std::string_view begin;
  std::string_view ending;
};
constexpr std::array kSignatures = {Signature{"\x89PNG\r\n\x1a\n", "png"},
                                    Signature{"\xff\xd8\xff", "jpg"}, Signature{"GIF8", "gif"}};

template <class T>
void append_all(std::string_view bytes, std::vector<double>& out) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    out.push_back(static_cast<double>(value));
  }
}

// Appends a repeated double, packed or not.
void append_doubles(const ProtoField& field, std::vector<double>& out) {
  if (field.wire == ProtoWire::kFixed64) out.push_back(field.real());
  if (field.wire == ProtoWire::kBytes) append_all<double>(field.bytes, out);
}

// Nothing unless the edges grow, the counts are 0 or more, and all are finite.
std::optional<std::string> histogram_file(const std::vector<double>& edges,
                                          const std::vector<double>& counts) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(edges, is_finite) || !std::ranges::is_sorted(edges) ||
      !std::ranges::all_of(counts, [](double n) { return std::isfinite(n) && n >= 0; }))
    return std::nullopt;
  std::string text;
  JsonWriter json(text);
  const auto write = [&](std::string_view name, const std::vector<double>& values) {
    json.key(name).begin_array();
    for (const double value : values) json.value(value);
    json.end_array();
  };
  json.begin_object();
  write("edges", edges);
  write("counts", counts);
  json.member("not_finite", 0).end_object();
  return text;
}

}  // namespace

std::string_view media_ending(std::string_view file) {
  for (const auto& [begin, ending] : kSignatures)
    if (file.starts_with(begin)) return ending;
  if (file.starts_with("RIFF") && file.substr(std::min<std::size_t>(8, file.size()), 4) == "WAVE")
    return "wav";
  return "";
}

std::string_view encoded_file(std::string_view message) {
  std::string_view file;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field))
    if (field.is(4, ProtoWire::kBytes)) file = field.bytes;
  return reader.ok() ? file : std::string_view();
}

// HistogramProto: bin i ends at limit i. The outermost bins with values begin and end at the least
// and the greatest value, because the limits around them may lie far away.
std::optional<std::string> histogram_of_proto(std::string_view histogram_proto) {
  double low = 0;
  double high = 0;
  std::vector<double> limits;
  std::vector<double> counts;
  ProtoReader reader(histogram_proto);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kFixed64)) low = field.real();
    if (field.is(2, ProtoWire::kFixed64)) high = field.real();
    if (field.number == 6) append_doubles(field, limits);
    if (field.number == 7) append_doubles(field, counts);
    if (std::max(limits.size(), counts.size()) > kMostBins) return std::nullopt;
  }
  if (!reader.ok() || limits.size() != counts.size()) return std::nullopt;
  const auto has_values = [](double count) { return count > 0; };
  const auto first = std::ranges::find_if(counts, has_values);
  if (first == counts.end()) return histogram_file({}, {});
  const auto last = std::find_if(counts.rbegin(), counts.rend(), has_values).base();
  const auto from = first - counts.begin();
  const auto to = last - counts.begin();
  std::vector<double> edges = {low};
  edges.insert(edges.end(), limits.begin() + from, limits.begin() + to - 1);
  edges.push_back(high);
  return histogram_file(edges, std::vector<double>(first, last));
}

std::optional<std::string> histogram_of_rows(std::span<const double> rows) {
  if (rows.size() % 3 != 0 || rows.size() > 3 * kMostBins) return std::nullopt;
  std::vector<double> edges;
  std::vector<double> counts;
  for (std::size_t at = 0; at < rows.size(); at += 3) {
    if (edges.empty()) edges.push_back(rows[at]);
    if (edges.back() != rows[at]) return std::nullopt;
    edges.push_back(rows[at + 1]);
    counts.push_back(rows[at + 2]);
  }
  return histogram_file(edges, counts);
}

std::optional<std::vector<double>> tensor_reals(std::string_view tensor_proto) {
  constexpr std::uint64_t kFloat = 1;
  constexpr std::uint64_t kDouble = 2;
  std::uint64_t type = 0;
  ProtoReader types(tensor_proto);
  ProtoField field;
  while (types.next(field))
    if (field.is(1, ProtoWire::kVarint)) type = field.value;
  if (!types.ok() || (type != kFloat && type != kDouble)) return std::nullopt;
  std::vector<double> values;
  ProtoReader reader(tensor_proto);
  while (reader.next(field)) {
    const bool content = field.is(4, ProtoWire::kBytes);
    if (type == kDouble && (content || field.number == 6)) append_doubles(field, values);
    if (type == kFloat && (content || field.is(5, ProtoWire::kBytes)))
      append_all<float>(field.bytes, values);
    if (type == kFloat && field.is(5, ProtoWire::kFixed32))
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
    if (values.size() > 3 * kMostBins) return std::nullopt;
  }
  return values;
}

}  // namespace corral::imports
