// W&B's offline files: pieces of any size give the same records and the same damage, and what is
// taken of them are valid points.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "imports/wandb_file.h"

namespace {

using namespace corral;           // NOLINT(google-build-using-namespace)
using namespace corral::imports;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

class Sink final : public RunSink {
 public:
  Result<> part(std::string_view) override { return {}; }
  Result<> point(const Point& point) override {
    check(!point.metric.empty());
    return {};
  }
  Result<> event(const TextEvent&) override { return {}; }
  Result<> medium(std::string_view, std::string_view) override { return {}; }
  Result<> flush() override { return {}; }
  void param(std::string_view key, std::string_view) override { check(!key.empty()); }
  void tag(std::string_view key, std::string_view) override { check(!key.empty()); }
  void remember(std::string_view) override {}
  Result<> finish(const RunEnding& ending) override {
    check(!ending.start || ending.end >= *ending.start);
    return {};
  }
};
class Ignoring final : public Importer {
 public:
  Result<std::unique_ptr<RunSink>> begin(const RunDetails&) override {
    return std::make_unique<Sink>();
  }
  Result<std::optional<std::string>> remembered(const std::string&) override {
    return std::nullopt;
  }
  Result<> at(std::string_view, std::int64_t, std::int64_t) override { return {}; }
};

std::vector<std::string> records_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> found;
  WandbRecords records;
  Ignoring importer;
  WandbRun run(importer);
  Sink sink;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    records.add(bytes.substr(at, piece));
    for (;;) {
      const auto record = records.next();
      if (!record) {
        found.push_back(record.error().message);
        return found;
      }
      if (!*record) break;
      found.emplace_back(**record);
      check(run.read(**record, &sink).has_value());
    }
  }
  check(run.finish(sink).has_value());
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(records_of(bytes, size + 1) == records_of(bytes, 5));
  // Checksums keep most inputs from the messages: they are read as such, too.
  Ignoring importer;
  WandbRun run(importer);
  Sink sink;
  check(run.read(bytes, &sink).has_value());
  check(run.read(bytes, nullptr).has_value());
  check(run.finish(sink).has_value());
  return 0;
}
