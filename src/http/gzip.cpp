#include "http/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace corral::http {
namespace {

constexpr std::size_t kStepBytes = 64u << 10;
constexpr int kGzipWindow = 15 + 16;  // the greatest window, with gzip's header alone

// zlib reads through a pointer that is not const.
void give_input(z_stream& stream, std::string_view bytes) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

tl::unexpected<Error> broken() {
  return fail(Code::kInvalidArgument,
              "the body is not a complete gzip, as its Content-Encoding claims");
}

}  // namespace

std::optional<std::string> gzip(std::string_view bytes) {
  constexpr int kUsualMemory = 8;
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kUsualMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  give_input(stream, bytes);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return done ? std::optional(std::move(out)) : std::nullopt;
}

class Inflater {
 public:
  Inflater() : ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  [[nodiscard]] bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

Result<std::string> gunzip(std::string_view compressed, std::size_t limit,
                           const RoomFor& room_for) {
  if (compressed.size() > std::numeric_limits<uInt>::max()) return broken();
  const std::size_t most = std::min(limit, kGzipFreeBytes + compressed.size() * kGzipRatio);
  Inflater inflater;
  if (!inflater.ready()) return fail(Code::kUnavailable, "no memory to unpack the body");
  z_stream& stream = inflater.stream();
  give_input(stream, compressed);
  std::string out;
  std::size_t used = 0;
  for (;;) {
    // Doubled by hand, so that the allocation is exactly the requested size. One byte more than the
    // limit shows that more came.
    if (used == out.size()) {
      const std::size_t size = std::min(std::max(kStepBytes, 2 * used), most + 1);
      if (room_for && !room_for(size))
        return fail(Code::kUnavailable, "no memory to unpack the body now; retry later");
      out.resize(size);
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
    const int status = inflate(&stream, Z_NO_FLUSH);
    used = out.size() - stream.avail_out;
    if (used > most) {
      return fail(
          Code::kTooLarge,
          fmt::format("a body may unpack to at most {} bytes here, this one is longer", most));
    }
    if (status == Z_STREAM_END && stream.avail_in == 0) {
      out.resize(used);
      return out;
    }
    if (status == Z_STREAM_END ? inflateReset(&stream) != Z_OK : status != Z_OK) return broken();
  }
}

GzipReader::GzipReader() : inflater_(std::make_unique<Inflater>()), out_(kStepBytes, '\0') {}
GzipReader::~GzipReader() = default;

Result<> GzipReader::read(std::string_view compressed, const Take& take) {
  if (!inflater_->ready()) return fail(Code::kUnavailable, "no memory to unpack it");
  z_stream& stream = inflater_->stream();
  while (!compressed.empty()) {
    const std::string_view piece = compressed.substr(0, kStepBytes);
    compressed.remove_prefix(piece.size());
    give_input(stream, piece);
    do {
      between_ = between_ && stream.avail_in == 0;
      stream.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream.avail_out = static_cast<uInt>(out_.size());
      const int status = inflate(&stream, Z_NO_FLUSH);
      TRY(take(std::string_view(out_).substr(0, out_.size() - stream.avail_out)));
      if (status == Z_STREAM_END) {
        between_ = true;
        inflateReset(&stream);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return fail(Code::kInvalidArgument, "not a gzip file, or a damaged one");
      }
    } while (stream.avail_in > 0 || stream.avail_out == 0);
  }
  return {};
}

Result<> GzipReader::finish() const {
  if (between_) return {};
  return fail(Code::kInvalidArgument, "the gzip file ends too early");
}

}  // namespace corral::http
