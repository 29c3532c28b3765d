// The lines in which the Python package gives runs: whatever they are, points have names and runs
// end once, and pieces of any size give the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "imports/interchange.h"

namespace {

using namespace corral;           // NOLINT(google-build-using-namespace)
using namespace corral::imports;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

class Sink final : public RunSink {
 public:
  explicit Sink(std::string& text) : text_(text) {}
  Result<> part(std::string_view) override { return {}; }
  Result<> point(const Point& point) override {
    check(!point.metric.empty() && !ended_);
    text_ += std::string(point.metric) + std::to_string(ns_of(point.time)) + ' ';
    return {};
  }
  Result<> event(const TextEvent& event) override {
    check(!event.name.empty() && !ended_);
    return {};
  }
  Result<> medium(std::string_view, std::string_view) override { return {}; }
  Result<> flush() override { return {}; }
  void param(std::string_view, std::string_view) override { check(!ended_); }
  void tag(std::string_view, std::string_view) override { check(!ended_); }
  void remember(std::string_view) override {}
  Result<> finish(const RunEnding&) override {
    check(!ended_);
    ended_ = true;
    return {};
  }

 private:
  std::string& text_;
  bool ended_ = false;
};
class Keeping final : public Importer {
 public:
  std::string text;
  Result<std::unique_ptr<RunSink>> begin(const RunDetails& run) override {
    check(!run.identity.empty());
    return std::make_unique<Sink>(text);
  }
  Result<std::optional<std::string>> remembered(const std::string&) override {
    return std::nullopt;
  }
  Result<> at(std::string_view, std::int64_t, std::int64_t) override { return {}; }
};

std::string read(std::string_view bytes, std::size_t piece) {
  Keeping importer;
  Interchange interchange({}, importer);
  Result<> done;
  for (std::size_t at = 0; at < bytes.size() && done; at += piece)
    done = interchange.add(bytes.substr(at, piece));
  if (done) done = interchange.finish();
  return importer.text + (done ? "" : done.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(read(bytes, size + 1) == read(bytes, 3));
  return 0;
}
