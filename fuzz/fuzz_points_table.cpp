// Tables of points in CSV: pieces of any size give the same rows, and the same error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "imports/points_table.h"

namespace {

using namespace corral;           // NOLINT(google-build-using-namespace)
using namespace corral::imports;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

// The points of a table; the message of an error comes last.
using Lines = std::vector<std::string>;

class Sink final : public RunSink {
 public:
  explicit Sink(Lines& lines) : lines_(lines) {}
  Result<> part(std::string_view) override { return {}; }
  Result<> point(const Point& point) override {
    check(!point.metric.empty());
    lines_.push_back(std::string(point.metric) + '\0' + std::string(point.source) + '\0' +
                     std::to_string(point.step.value_or(-1)) + ' ' +
                     std::to_string(ns_of(point.time)));
    return {};
  }
  Result<> event(const TextEvent&) override { return {}; }
  Result<> medium(std::string_view, std::string_view) override { return {}; }
  Result<> flush() override { return {}; }
  void param(std::string_view, std::string_view) override {}
  void tag(std::string_view, std::string_view) override {}
  void remember(std::string_view) override {}
  Result<> finish(const RunEnding&) override { return {}; }

 private:
  Lines& lines_;
};
class Keeping final : public Importer {
 public:
  explicit Keeping(Lines& lines) : lines_(lines) {}
  Result<std::unique_ptr<RunSink>> begin(const RunDetails&) override {
    return std::make_unique<Sink>(lines_);
  }
  Result<std::optional<std::string>> remembered(const std::string&) override {
    return std::nullopt;
  }
  Result<> at(std::string_view, std::int64_t, std::int64_t) override { return {}; }

 private:
  Lines& lines_;
};

Lines lines_of(std::string_view text, std::size_t piece) {
  Lines lines;
  Keeping importer(lines);
  TableImport table(
      {}, "table", [](const std::string& run) { return Result<std::string>(run); }, importer);
  CsvStream rows;
  const auto take = [&](const CsvRow& row) {
    check(!row.cells.empty() && !row.place(0).empty());
    return table.row(row);
  };
  const auto read = [&]() -> Result<> {
    for (std::size_t at = 0; at < text.size(); at += piece)
      TRY(rows.add(text.substr(at, piece), take));
    return rows.finish(take);
  };
  if (const auto done = read(); !done) lines.push_back(done.error().message);
  check(table.finish("").has_value());
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(lines_of(text, size + 1) == lines_of(text, 7));
  return 0;
}
