// ChunkWriter: writes docs/format-points.md.
//
// Holds nothing but counts: columns go to the sink as they lie in memory. After the sink has
// refused, nothing is written any more. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/points.h"
#include "query/read.h"

namespace corral::query {

class ChunkWriter {
 public:
  // `sink` must outlive this.
  explicit ChunkWriter(const ReadSink& sink) : sink_(sink) {}
  [[nodiscard]] bool wanted() const { return wanted_; }

  void begin(bool reduced);
  // JSON of the series that the following chunks belong to.
  void declare(std::string json);
  bool points(const PointBatch& batch);
  bool gap(std::int64_t from, std::int64_t to, std::uint64_t points);
  // One of them last.
  void end();
  void error(const Error& error);

 private:
  struct Header;
  void put(std::string_view bytes) { wanted_ = wanted_ && sink_(bytes); }
  void text(std::uint32_t kind, std::string text);

  const ReadSink& sink_;
  bool wanted_ = true;
  std::uint64_t series_ = 0, points_ = 0, gaps_ = 0;
};

}  // namespace corral::query
