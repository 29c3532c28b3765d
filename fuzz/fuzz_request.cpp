// What a client sends: request targets, the bodies of POST /charts, /lines, /points and /windows,
// and the splitting of frame bodies.
#include <cstdlib>
#include <cstring>

#include "core/json_position.h"
#include "server/api/chart_request.h"
#include "server/api/frames_split.h"
#include "server/api/line_request.h"
#include "server/api/read_request.h"
#include "server/api/window_request.h"
#include "server/http/request.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void fuzz_frames(std::span<const std::uint8_t> bytes) {
  const auto split = corral::server::api::split_frames(bytes);
  std::size_t total = 0;
  for (const auto& frame : split.frames) {
    check(frame.data() == bytes.data() + total);
    total += frame.size();
    static_cast<void>(corral::codec::decode_frame(frame));
  }
  check(split.position == total);
  check(split.error.has_value() == (total != bytes.size()));
}

void check_error(const corral::server::api::RequestError& error, std::string_view text) {
  check(!error.error.message.empty() && error.position.value_or(0) <= text.size());
}

void fuzz_chart(std::string_view text) {
  const auto request = corral::server::api::parse_chart_request(text);
  if (request) {
    check(request->width >= 1 && !request->series.empty());
  } else {
    check_error(request.error(), text);
  }
  const auto lines = corral::server::api::parse_line_request(text);
  if (lines) {
    check(lines->width >= 1 && !lines->lines.empty());
    for (const auto& line : lines->lines) check(!line.series.empty());
  } else {
    check_error(lines.error(), text);
  }
  const auto points = corral::server::api::parse_points_request(text);
  if (points) {
    check(!points->runs.empty() && !points->read.metrics.empty() &&
          points->read.points.value_or(4) > 3);
  } else {
    check_error(points.error(), text);
  }
  const auto windows = corral::server::api::parse_window_request(text);
  if (windows) {
    check(windows->request.from < windows->request.to && windows->request.max_points > 0);
  } else {
    check_error(windows.error(), text);
  }
  check(corral::json_error_position(text) <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 3) {
    case 0:
      fuzz_frames(bytes);
      break;
    case 1:
      fuzz_chart(text);
      break;
    default: {
      corral::server::Request request;
      static_cast<void>(corral::server::parse_target(text, request));
    }
  }
  return 0;
}
