// ChunkWriter: writes docs/format-points.md.
//
// Columns go to a buffer as they lie in memory. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "query/export/read.h"
#include "query/series/points.h"

namespace corral::query {

class ChunkWriter {
 public:
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  // All since the last call.
  std::string take() { return std::exchange(out_, {}); }

  void begin(bool reduced);
  // JSON of the series that the following chunks belong to.
  void declare(std::string json);
  void points(const PointBatch& batch);
  void gap(std::int64_t from, std::int64_t to, std::uint64_t points);
  // One of them last.
  void end();
  void error(const Error& error);

 private:
  struct Header;
  void put(std::string_view bytes) { out_ += bytes; }
  void text(std::uint32_t kind, std::string text);

  std::string out_;
  std::uint64_t series_ = 0, points_ = 0, gaps_ = 0;
};

}  // namespace corral::query
