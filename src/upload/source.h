// Source: one session's frames, read from the spool.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"

namespace corral::upload {

class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual SessionId session() const = 0;
  // Frames that cover the numbers from `after` + 1 on, without holes, about `max_bytes` of them;
  // empty when there is nothing (yet).
  virtual Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) = 0;
  // Numbers up to `durable` are stored: files that hold nothing else may go.
  virtual void acknowledge(std::uint64_t durable) = 0;
  // Nothing more will ever come after `durable`.
  virtual bool finished(std::uint64_t durable) = 0;
  // After finished(): deletes the rest of the session, if that is worth doing before the whole run
  // is done.
  virtual bool discard() = 0;
};

}  // namespace corral::upload
