// radT's span batches, as gzip (mostly refused) and as what a gzip of these lines holds.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compat/radt/radt.h"

namespace {

using namespace corral;  // NOLINT(google-build-using-namespace)

void use(std::string_view file) {
  static_cast<void>(
      mlflow::read_radt_spans(file, [](std::span<const codec::PhaseRecord> phases) -> Result<> {
        const codec::FrameHeader header{
            .kind = codec::FrameKind::kPhases, .session = {}, .first = 1, .last = 1};
        const codec::Bytes bytes =
            codec::encode(header, codec::PhasesBody{{phases.begin(), phases.end()}});
        const auto frame = codec::decode_frame(bytes);
        if (!frame || !codec::decode_phases(*frame)) std::abort();
        return {};
      }));
}

std::string zipped(const std::uint8_t* data, std::size_t size) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, 0, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, static_cast<uLong>(size)) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  use({reinterpret_cast<const char*>(data), size});
  use(zipped(data, size));
  return 0;
}
