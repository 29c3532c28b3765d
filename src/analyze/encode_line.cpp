#include "analyze/line.h"
#include "codec/wire.h"

namespace corral::query {
namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kSpansLost = 1, kOutOfOrder = 2;

void put_line(codec::WireWriter& out, const Line& line) {
  out.put(static_cast<std::uint8_t>(line.kind));
  out.put(static_cast<std::uint8_t>(line.exact));
  out.put(line.rate);
  out.put(static_cast<std::uint8_t>(line.reason));
  out.put(static_cast<std::uint32_t>(line.arrays.size()));
  out.put(line.points);
  out.put(line.lost.points);
  out.put((line.lost.spans ? kSpansLost : 0) | (line.in_order ? 0 : kOutOfOrder));
  out.put(line.units);
  out.put(line.counted_once);
  out.put(line.zero_denominators);
  out.put(line.window);
  for (const std::vector<double>& array : line.arrays)
    out.append(array.data(), array.size() * sizeof(double));
}

}  // namespace

std::string encode_lines(const Lines& lines) {
  codec::WireWriter out;
  out.append("CRLN", 4);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(lines.lines.size()));
  out.put(lines.width);
  out.put(static_cast<std::uint32_t>(lines.axis));
  out.put(lines.from);
  out.put(lines.to);
  for (const Line& line : lines.lines) put_line(out, line);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace corral::query
