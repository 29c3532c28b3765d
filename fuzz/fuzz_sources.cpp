// Fuzzes what reads foreign sources: the first byte chooses the parser, the rest is what a command,
// an endpoint, a script or a statsd client sent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collect/foreign/exec_lines.h"
#include "collect/foreign/exposition.h"
#include "collect/foreign/output_scanner.h"
#include "collect/foreign/relabel.h"
#include "collect/foreign/statsd.h"
#include "collect/foreign/text.h"
#include "core/limits.h"
#include "core/text.h"

namespace {

namespace foreign = corral::collect::foreign;

constexpr std::size_t kLineBytes = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}
void require_within(std::string_view text, std::string_view part) {
  require(part.empty() ||
          (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size()));
}

void exec(foreign::Format format, std::string_view text) {
  foreign::ExecLines reader(format, "source");
  foreign::PointQueue queue(1024, 64);
  foreign::ProblemBox problems;
  foreign::Emitter emitter("exec.x", "", {.series = 32, .points_per_s = 512}, queue, problems);
  foreign::LineSplitter lines(kLineBytes);
  const auto take = [&](std::string_view line, bool) {
    require(line.size() <= kLineBytes && !line.empty());
    reader.read(line, [&](const foreign::Reading& reading) { emitter.emit(reading, {}); });
  };
  lines.feed(text, take);
  lines.finish(take);
  for (const auto& series : queue.drain().series) {
    require(!series.name.empty() && series.name.size() <= corral::limits::kNameBytes);
    require(corral::is_utf8(series.name) && corral::is_utf8(series.source) &&
            corral::is_utf8(series.unit));
  }
}

void output(std::string_view text) {
  foreign::PointQueue queue(1024, 64);
  foreign::ProblemBox problems;
  foreign::RegexSource source;
  source.name = "x";
  source.pattern = R"((?P<metric>\S+)[=:] ?(?P<value>\S+)( (?P<unit>\S+))?)";
  std::vector<std::unique_ptr<foreign::OutputPattern>> patterns;
  patterns.push_back(foreign::OutputPattern::create(source, queue, problems).value());
  foreign::OutputScanner scanner(std::move(patterns));
  scanner.feed(foreign::Stream::kOut, text.substr(0, text.size() / 2), {});
  scanner.feed(foreign::Stream::kErr, text, {});
  scanner.feed(foreign::Stream::kOut, text.substr(text.size() / 2), {});
  scanner.finish({});
}

// One sample remains for each series and time of an answer, and no two series become one.
void exposition(std::string_view text) {
  std::vector<foreign::ExpositionSample> samples;
  const auto found = foreign::read_exposition(text, [&](foreign::ExpositionSample& sample) {
    require_within(text, sample.name);
    if (samples.size() < 256) samples.push_back(sample);
  });
  require_within(text, found.first_bad);
  // The same answer twice over: every sample has a duplicate.
  const std::size_t once = samples.size();
  for (std::size_t i = 0; i < once; ++i) samples.push_back(samples[i]);
  auto relabel = foreign::Relabel::create({}).value();
  relabel.choose(samples);
  const auto dropped = relabel.drop_repeated(samples);
  require(dropped.twice.count + dropped.merged.count >= once);
  require(samples.size() + dropped.twice.count + dropped.merged.count == 2 * once);
  std::set<std::tuple<std::string, std::string, std::optional<std::int64_t>>> seen;
  for (const auto& sample : samples) {
    require(
        seen.emplace(std::string(relabel.name(sample.name)), relabel.source(sample), sample.time_ms)
            .second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 7) {
    case 0:
    case 1:
    case 2:
    case 3:
      exec(static_cast<foreign::Format>(data[0] % 7), text);
      break;
    case 4:
      exposition(text);
      break;
    case 5:
      output(text);
      break;
    default:
      foreign::read_statsd(text, [&](const foreign::StatsdMetric& metric) {
        require(!metric.name.empty());
        require_within(text, metric.name);
        require_within(text, metric.tags);
      });
  }
  return 0;
}
