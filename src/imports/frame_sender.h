// Frames of sessions that `corral import` writes, and the ids that follow from what is imported.
//
// An id that follows from the imported data makes an import repeatable: the same data gives the
// same run and the same session, and the store knows how much of that session it has. Not
// thread-safe; a sender belongs to one import.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/sha256.h"
#include "upload/transport.h"

namespace corral::imports {

// The same for the same two texts.
template <class Id>
Id derived_id(std::string_view what, std::string_view of) {
  const Sha256 hash = sha256(fmt::format("{} {}", what, of));
  Id id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

// A run that an import makes, and whether the store has it from an import before.
struct OwnRun {
  RunId id;
  bool known = false;
};

// Returns the run whose id follows from `what` and `identity`, or the next such run where that one
// was removed: a removed run is not made again under its id. `session_of(run)` is the session that
// an import of the run begins with; `is_there(run)`, a Result<bool>, asks whether the store has it.
template <class SessionOf, class IsThere>
Result<OwnRun> find_own_run(upload::Transport& transport, std::string_view what,
                            std::string_view identity, SessionOf session_of, IsThere is_there) {
  for (int attempt = 0;; ++attempt) {
    const auto id = derived_id<RunId>(fmt::format("run {} of {}", attempt, what), identity);
    if (TRY(transport.durable_seq(session_of(id))) == 0) return OwnRun{.id = id};
    if (TRY(is_there(id))) return OwnRun{.id = id, .known = true};
  }
}

// Numbers a session's frames from `durable` + 1 on, and posts them about a megabyte at a time.
class FrameSender {
 public:
  FrameSender(upload::Transport& transport, SessionId session, std::uint64_t durable)
      : transport_(transport), session_(session), last_(durable) {}

  template <class Body>
  Result<> add(const Body& body) {
    const codec::FrameHeader header = next(1);
    return add(codec::encode(header, body));
  }
  // A frame that covers so many sequence numbers.
  Result<> add(const codec::Bundle& bundle, std::uint64_t numbers) {
    const codec::FrameHeader header = next(numbers);
    return add(bundle.finish(header));
  }
  // Posts what waits. An error is the server's: of the request, or of a frame that it rejected.
  Result<> flush();

 private:
  static constexpr std::size_t kMostBytes = 1U << 20U;

  codec::FrameHeader next(std::uint64_t numbers) {
    last_ += numbers;
    return {.session = session_, .first = last_ - numbers + 1, .last = last_};
  }
  Result<> add(codec::Bytes frame);

  upload::Transport& transport_;
  SessionId session_;
  std::uint64_t last_;
  std::vector<codec::Bytes> frames_;
  std::size_t bytes_ = 0;
};

}  // namespace corral::imports
