// Spans as phases: a run's traces are shown under its charts.
//
// A phase has its span's id, so that the same span sent twice is one phase, and the span's lane, or
// "traces". Its kind follows from the span's: calls to others are I/O, waiting for a message is
// waiting, all else computes. Names, attributes and links are cut to a frame's limits
// (core/limits.h). Times are on mlflow/times.h's clock. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "compat/mlflow/wire/span.h"

namespace corral::mlflow {

std::vector<codec::PhaseRecord> phases_of_spans(std::span<const Span> spans);

// Parts of about `bytes` each, none empty; the default fits a frame with room to spare.
inline constexpr std::size_t kPhaseBytes = 1u << 20;
std::vector<std::span<const codec::PhaseRecord>> phase_batches(
    std::span<const codec::PhaseRecord> phases, std::size_t bytes = kPhaseBytes);

// At most as many, and as long, as a phase may have; values become JSON text.
codec::Attributes phase_attributes(const SpanAttributes& attributes);
// Returns the nearest time that a frame can carry.
BootTime phase_time(std::int64_t unix_ns);
// Valid UTF-8 of at most `bytes`, without NUL, which PostgreSQL does not take.
std::string phase_text(std::string_view text, std::size_t bytes);

inline constexpr std::string_view kTraceLane = "traces";

}  // namespace corral::mlflow
