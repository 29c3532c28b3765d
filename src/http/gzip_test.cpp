#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <optional>

namespace corral::http {
namespace {

constexpr std::size_t kLimit = 64u << 20;

std::string packed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Gzip, UnpacksOneMemberAndSeveral) {
  EXPECT_EQ(gunzip(packed(""), kLimit).value_or("?"), "");
  EXPECT_EQ(gunzip(packed("hello"), kLimit).value_or("?"), "hello");
  const std::string big(300'000, 'x');
  EXPECT_EQ(gunzip(packed(big) + packed("end"), kLimit).value_or("?"), big + "end");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += packed("");
  EXPECT_EQ(gunzip(many + packed("end"), kLimit).value_or("?"), "end");
}

TEST(Gzip, WhatIsPackedUnpacksToTheSame) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919);
  for (const std::string& whole : {std::string(), std::string("a"), text}) {
    const auto packed = gzip(whole);
    ASSERT_TRUE(packed);
    EXPECT_EQ(gunzip(*packed, kLimit).value_or("?"), whole);
  }
  EXPECT_LT(gzip(text)->size(), text.size() / 2);
}

TEST(Gzip, ABombIsTooLargeBySizeAndByRatio) {
  const std::string bomb = packed(std::string(8u << 20, '\0'));  // 8 KB
  const auto by_ratio = gunzip(bomb, kLimit);
  ASSERT_FALSE(by_ratio);
  EXPECT_EQ(by_ratio.error().code, Code::kTooLarge);
  const auto by_size = gunzip(packed("hello"), 4);
  ASSERT_FALSE(by_size);
  EXPECT_EQ(by_size.error().code, Code::kTooLarge);
  EXPECT_TRUE(gunzip(packed("hello"), 5));
}

TEST(Gzip, AnythingElseIsRefused) {
  const std::string whole = packed(std::string(1000, 'a') + "b");
  for (const std::string& bytes :
       {std::string(), std::string("hello"), whole.substr(0, whole.size() - 1), whole + "x"}) {
    const auto result = gunzip(bytes, kLimit);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  }
  std::string wrong_checksum = whole;
  wrong_checksum[whole.size() - 6] ^= 1;
  EXPECT_FALSE(gunzip(wrong_checksum, kLimit));
}

// Unpacks the bytes in pieces of `size`; nullopt: an error.
std::optional<std::string> read_in_pieces(std::string_view bytes, std::size_t size) {
  GzipReader reader;
  std::string out;
  const auto take = [&](std::string_view piece) -> Result<> {
    out += piece;
    return {};
  };
  for (std::size_t at = 0; at < bytes.size(); at += size)
    if (!reader.read(bytes.substr(at, size), take)) return std::nullopt;
  return reader.finish() ? std::optional(out) : std::nullopt;
}

TEST(GzipReader, UnpacksPieceByPieceWithoutABound) {
  const std::string big(9u << 20, 'x');
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    EXPECT_EQ(read_in_pieces(packed("hello"), size), "hello");
    EXPECT_TRUE(read_in_pieces(packed(big) + packed("") + packed("end"), size) == big + "end");
  }
}

TEST(GzipReader, RefusesWhatIsCutOrNoGzip) {
  const std::string whole = packed(std::string(1000, 'a') + "b");
  for (const std::string& bytes : {std::string("hello"), whole + "x", whole.substr(0, 1),
                                   whole.substr(0, whole.size() - 1), whole + whole.substr(0, 20)})
    EXPECT_EQ(read_in_pieces(bytes, 7), std::nullopt);
  GzipReader reader;
  const auto refused =
      reader.read(whole, [](std::string_view) { return fail(Code::kNoSpace, "full"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "full");
}

}  // namespace
}  // namespace corral::http
