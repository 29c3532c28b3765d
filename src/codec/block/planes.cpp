#include "codec/block/planes.h"

#include <zstd.h>

#include <array>
#include <cstring>
#include <memory>

#include "core/result.h"

namespace corral::codec {
namespace {

constexpr std::array<std::uint8_t, 4> kMagic = {0x28, 0xB5, 0x2F, 0xFD};
constexpr std::size_t kMostCompressed = ZSTD_COMPRESSBOUND(kMostPlaneBytes);

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::size_t append_compressed(std::string& out, std::span<const std::uint8_t> bytes, int level,
                              std::size_t most) {
  CORRAL_ASSERT(bytes.size() <= kMostPlaneBytes);
  static thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  CORRAL_ASSERT(context != nullptr);
  std::array<char, kMostCompressed> frame;
  const std::size_t n = ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), bytes.data(),
                                          bytes.size(), level);
  if (ZSTD_isError(n) != 0 || n - kMagic.size() >= most) return 0;
  out.append(frame.data() + kMagic.size(), n - kMagic.size());
  return n - kMagic.size();
}

bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
  if (in.empty() || in.size() > kMostCompressed - kMagic.size()) return false;
  static thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  CORRAL_ASSERT(context != nullptr);
  std::array<std::uint8_t, kMostCompressed> frame;
  std::memcpy(frame.data(), kMagic.data(), kMagic.size());
  std::memcpy(frame.data() + kMagic.size(), in.data(), in.size());
  const std::size_t n = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(),
                                            kMagic.size() + in.size());
  return ZSTD_isError(n) == 0 && n == out.size();
}

}  // namespace corral::codec
