// ChromeEvents: reads a trace in Chrome's JSON format piece by piece, as PyTorch's profiler
// (Kineto) and many others write it: an object with `traceEvents`, or the bare array of events.
//
// Memory is bounded by one event (kMostEventBytes), however long the trace is. Times are decimal
// microseconds and become exact nanoseconds: no double lies between. Other members of `args`
// are skipped and not checked. Positions in errors are bytes of the JSON text.
// Not copied; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::trace {

inline constexpr std::size_t kMostEventBytes = 16U << 20U;

// Nanoseconds of decimal microseconds such as "12.345" or "1.2e3", rounded to the nearest, away
// from zero. nullopt: no such number, or one beyond 64 bits.
std::optional<std::int64_t> parse_micros(std::string_view text);

// The texts are valid during the call that hands the event over.
struct ChromeEvent {
  char phase = '\0';  // `ph`: X, B, E, b, e, M, ...; NUL: none
  std::string_view name, category;
  std::string_view process, thread;                // `pid` and `tid`: numbers or names
  std::string_view id;                             // given to asynchronous events
  std::optional<std::int64_t> time_ns, length_ns;  // `ts` and `dur`; nullopt: none that can be used
  std::optional<std::int64_t> device, stream, correlation;  // in `args`
  std::string_view label;                                   // `args.name`
};

// Members beside the events; they may come before or after them.
struct ChromeHeader {
  std::int64_t base_ns = 0;          // `baseTimeNanoseconds`: of all times
  std::optional<std::int64_t> rank;  // `distributedInfo.rank`
  bool kineto = false;               // has `schemaVersion`
  bool closed = true;                // a bare array may lack its end
};

class ChromeEvents {
 public:
  using Take = std::function<void(const ChromeEvent&)>;
  explicit ChromeEvents(Take take);
  ~ChromeEvents();
  ChromeEvents(const ChromeEvents&) = delete;
  ChromeEvents& operator=(const ChromeEvents&) = delete;

  // The next bytes of the text. kInvalidArgument: malformed; kTooLarge: one event is too long.
  Result<> read(std::string_view piece);
  // After the last piece. kInvalidArgument: the text ended too early, or has no events' array.
  Result<ChromeHeader> finish();

 private:
  // The next thing to come, or the value that is being collected.
  enum class Next : std::uint8_t {
    kRoot,
    kKey,
    kColon,
    kMember,
    kAfterMember,
    kElement,
    kAfterElement,
    kNothing
  };
  class Parser;

  Result<> step(char c);
  Result<> after_value(char c, char closing, Next next);
  void collect_from_here();
  std::size_t collect(std::string_view rest);
  Result<> collected();
  Result<> take_member();
  [[nodiscard]] tl::unexpected<Error> unexpected_here(std::string_view wanted) const;

  Take take_;
  std::unique_ptr<Parser> parser_;
  ChromeHeader header_;
  Next next_ = Next::kRoot;
  bool in_object_ = false;  // the root is one
  bool first_ = true;       // neither a member nor an event has come
  bool has_events_ = false;
  std::uint64_t offset_ = 0;  // the next byte's
  // The value that is being collected.
  bool collecting_ = false, in_string_ = false, escaped_ = false, complete_ = false;
  std::size_t depth_ = 0;
  std::uint64_t value_at_ = 0;
  std::string value_, key_;
};

}  // namespace corral::trace
