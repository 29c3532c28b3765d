// Prometheus' remote read: any bytes, as they come and in a Snappy block, are answered or refused.
#include <snappy-c.h>

#include <cstdlib>
#include <filesystem>

#include "core/ids.h"
#include "query/export/remote_read.h"
#include "store/open/sqlite_store.h"
#include "store/test_frames.h"

namespace {

const corral::store::Reader& reader() {
  static const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("corral-" + corral::RunId::random().hex());
  static const auto store = corral::store::open_sqlite_store({.directory = directory}).value();
  corral::store::testing::SessionWriter writer;
  const corral::RunId run = corral::RunId::parse(std::string(32, 'a')).value();
  const std::vector sent{
      writer.frame(corral::store::testing::session_body(run)),
      writer.frame(
          corral::codec::SchemaBody{.series = {corral::store::testing::series_def(1, "loss"),
                                               corral::store::testing::series_def(2, "a/b")}}),
      writer.frame(corral::store::testing::samples(1, {{1'000'000, 1.0}, {2'000'000, 2.0}})),
      writer.frame(corral::store::testing::samples(2, {{1'000'000, 1.0}}))};
  if (!store->append(sent)) std::abort();
  static const corral::store::Reader all(*store, corral::store::Access::everything());
  std::atexit([] { std::filesystem::remove_all(directory); });
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const corral::store::Reader& store = reader();
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(corral::query::RemoteRead::parse(text));
  std::size_t packed_size = ::snappy_max_compressed_length(size);
  std::string packed(packed_size, '\0');
  if (::snappy_compress(text.data(), size, packed.data(), &packed_size) != SNAPPY_OK) std::abort();
  packed.resize(packed_size);
  const auto asked = corral::query::RemoteRead::parse(packed);
  if (!asked) return 0;
  const auto answer = asked->answer(store, [] { return false; });
  if (!answer) return 0;
  std::size_t answered = 0;
  if (::snappy_uncompressed_length(answer->data(), answer->size(), &answered) != SNAPPY_OK)
    std::abort();
  return 0;
}
