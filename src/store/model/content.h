// Content: the data of a frame, decoded and checked before any table is touched.
//
// Every implementation of store.h uses it, so that all of them refuse the same frames: a frame that
// decode_content accepts can fail only because of the database's content (an undeclared series, a
// session of another run) or a failure of the database. Bundles are opened here. Pure functions,
// any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/records.h"

namespace corral::store {

struct Content {
  std::optional<codec::SessionBody> session;
  std::vector<codec::SeriesDef> series;
  std::vector<codec::SamplesBody> samples;
  std::vector<codec::PhaseRecord> phases;
  std::vector<codec::Fact> facts;
  std::vector<codec::Event> events;
  std::optional<codec::LogBody> log;
  std::optional<codec::RunEndBody> end;
  std::optional<codec::GapBody> gap;
  // Bounds of every time that the content carries, and of its samples alone.
  struct Range {
    std::int64_t low = 0, high = 0;  // CLOCK_BOOTTIME, ns
  };
  std::optional<Range> times, sample_times;
};

// kInvalidArgument: malformed; kUnprocessable: times or clock offsets beyond 73 years, two names
// for one series id. Names, values and other text come out as UTF-8 without NUL, whatever came in
// (output is bytes and stays as it is).
Result<Content> decode_content(const codec::Frame& frame);

RunStatus final_status(const codec::RunEndBody& end);

// A JSON object of the attributes and back; empty text for none. A value that is not JSON becomes a
// JSON string.
std::string attributes_json(const codec::Attributes& attributes);
codec::Attributes parse_attributes(std::string_view json);

}  // namespace corral::store
