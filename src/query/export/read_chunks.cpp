#include "query/export/read_chunks.h"

#include <bit>
#include <cstring>
#include <span>

#include "core/json.h"

namespace corral::query {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are sent as they lie in memory");

constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kReduced = 1;
constexpr std::uint32_t kHasSteps = 1;
enum Kind : std::uint32_t { kSeries = 1, kPoints = 2, kGap = 3, kEnd = 4, kError = 5 };

template <class T>
std::string_view bytes_of(std::span<const T> items) {
  return {reinterpret_cast<const char*>(items.data()), items.size_bytes()};
}

template <class T>
std::string_view bytes_of(const T& item) {
  return {reinterpret_cast<const char*>(&item), sizeof item};
}

struct StreamHeader {
  char magic[4] = {'C', 'R', 'P', 'T'};
  std::uint16_t version = kVersion;
  std::uint16_t flags = 0;
  std::uint64_t zero = 0;
};
static_assert(sizeof(StreamHeader) == 16);

struct Triple {
  std::uint64_t a, b, c;
};

}  // namespace

struct ChunkWriter::Header {
  std::uint32_t kind = 0;
  std::uint32_t flags = 0;
  std::uint64_t bytes = 0;  // of the body
  std::uint32_t count = 0;
  std::uint32_t series = 0;
  std::int64_t session = 0;
};

void ChunkWriter::begin(bool reduced) {
  StreamHeader header;
  if (reduced) header.flags = kReduced;
  put(bytes_of(header));
}

void ChunkWriter::text(std::uint32_t kind, std::string text) {
  const auto count = static_cast<std::uint32_t>(text.size());
  text.resize((text.size() + 7) / 8 * 8);
  const auto series = static_cast<std::uint32_t>(kind == kSeries ? series_ : 0);
  put(bytes_of(Header{.kind = kind, .bytes = text.size(), .count = count, .series = series}));
  put(text);
}

void ChunkWriter::declare(std::string json) {
  text(kSeries, std::move(json));
  ++series_;
}

void ChunkWriter::points(const PointBatch& batch) {
  const std::size_t columns = batch.steps.empty() ? 2 : 3;
  put(bytes_of(Header{.kind = kPoints,
                      .flags = batch.steps.empty() ? 0 : kHasSteps,
                      .bytes = batch.values.size() * columns * 8,
                      .count = static_cast<std::uint32_t>(batch.values.size()),
                      .series = static_cast<std::uint32_t>(series_ - 1),
                      .session = batch.session}));
  put(bytes_of(batch.times));
  if (!batch.steps.empty()) put(bytes_of(batch.steps));
  put(bytes_of(batch.values));
  points_ += batch.values.size();
}

void ChunkWriter::gap(std::int64_t from, std::int64_t to, std::uint64_t points) {
  const Triple body{static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), points};
  put(bytes_of(Header{
      .kind = kGap, .bytes = sizeof body, .series = static_cast<std::uint32_t>(series_ - 1)}));
  put(bytes_of(body));
  ++gaps_;
}

void ChunkWriter::end() {
  const Triple body{series_, points_, gaps_};
  put(bytes_of(Header{.kind = kEnd, .bytes = sizeof body}));
  put(bytes_of(body));
}

void ChunkWriter::error(const Error& error) {
  std::string json;
  JsonWriter(json)
      .begin_object()
      .member("code", code_name(error.code))
      .member("message", error.message)
      .end_object();
  text(kError, std::move(json));
}

}  // namespace corral::query
