// For tests: a run's directory in a spool of its own.
#pragma once

#include <string>
#include <utility>

#include "spool/run_directory.h"
#include "spool/segment_test_support.h"

namespace corral::spool {

inline Manifest test_manifest() {
  Manifest m;
  m.run = RunId::random();
  m.session = SessionId::random();
  m.workload = own_workload_of(m.run);
  m.experiment = "digits";
  m.workload_name = "";
  m.run_name = "calm-otter-07";
  m.host = "node7";
  m.destination = {.store = "/data/store", .server = {}};
  m.anchor = {.utc_minus_boot = Nanos(1'763'710'530'123'456'789), .error = Nanos(321)};
  m.started = boot_time(9'007'199'254'740'993);  // no double holds it
  m.supervisor = {.pid = 17, .start_ticks = 99, .boot_id = "b"};
  return m;
}

inline std::string text_of(const codec::Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

// A frame that says `text`, for the log's next number.
inline codec::Bytes test_frame(const codec::FrameHeader& header, std::string text) {
  return codec::encode(header, codec::LogBody{.time = boot_time(1),
                                              .stream = codec::LogStream::kStdout,
                                              .offset = 0,
                                              .bytes = std::move(text)});
}

}  // namespace corral::spool
