// Bodies with Content-Encoding: gzip: requests, as OTLP's exporters send them, and answers.
//
// A body of 64 KB can unfold to 64 MB. Two bounds hold while it unfolds: bytes, and how many times
// longer it may become, so that many small bodies do not cost more than they weigh. Pure, any
// thread. GzipReader is for files, whose user chose them: it has no bounds, for it keeps nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::http {

// JSON of spans or metrics shrinks to a tenth, seldom to a fiftieth. Short texts may shrink more.
inline constexpr std::size_t kGzipRatio = 200;
inline constexpr std::size_t kGzipFreeBytes = 1u << 20;

// One or more gzip members, whole. kTooLarge beyond `limit` bytes or the ratio; kInvalidArgument
// for anything that is no gzip; kUnavailable when `room`, asked before the result grows to so many
// bytes, says no.
using RoomFor = std::function<bool(std::size_t bytes)>;
Result<std::string> gunzip(std::string_view compressed, std::size_t limit,
                           const RoomFor& room = {});

// The bytes as one gzip member, fast rather than small. nullopt: no memory, or too many bytes.
std::optional<std::string> gzip(std::string_view bytes);

class Inflater;

// Unpacks one or more gzip members piece by piece. One thread.
class GzipReader {
 public:
  GzipReader();
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Hands over what the next compressed bytes unpack to; stops at the first error of `take`.
  // kInvalidArgument: no gzip.
  using Take = std::function<Result<>(std::string_view piece)>;
  Result<> read(std::string_view compressed, const Take& take);
  // After the last bytes. kInvalidArgument: it ends within a member.
  [[nodiscard]] Result<> finish() const;

 private:
  std::unique_ptr<Inflater> inflater_;
  std::string out_;
  bool between_ = true;  // members: none has begun
};

}  // namespace corral::http
