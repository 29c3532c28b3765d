// For tests: an importer that keeps what readers give.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "imports/imported_run.h"

namespace corral::imports {

struct KeptRun {
  RunDetails details;
  std::vector<std::string> parts;
  // "part metric source step time_ns value" of each point, "name key=value ..." of each event.
  std::vector<std::string> points, events;
  std::map<std::string, std::string> media;  // by path
  std::map<std::string, std::string> params, tags;
  std::string state;
  std::optional<RunEnding> ending;
};

class KeepingImporter final : public Importer {
 public:
  std::vector<KeptRun> runs;
  std::vector<KeptRun> before;  // runs of an earlier import

  Result<std::unique_ptr<RunSink>> begin(const RunDetails& run) override {
    runs.push_back({.details = run,
                    .parts = {},
                    .points = {},
                    .events = {},
                    .media = {},
                    .params = {},
                    .tags = {},
                    .state = {},
                    .ending = {}});
    return std::make_unique<Sink>(*this, runs.size() - 1);
  }
  Result<std::optional<std::string>> remembered(const std::string& identity) override {
    const auto run = std::ranges::find(before, identity,
                                       [](const KeptRun& kept) { return kept.details.identity; });
    return run == before.end() ? std::nullopt : std::optional(run->state);
  }
  Result<> at(std::string_view, std::int64_t, std::int64_t) override { return {}; }

 private:
  class Sink final : public RunSink {
   public:
    Sink(KeepingImporter& importer, std::size_t index) : importer_(importer), index_(index) {}
    Result<> part(std::string_view name) override {
      run().parts.emplace_back(name);
      return {};
    }
    Result<> point(const Point& point) override {
      run().points.push_back(fmt::format(
          "{} {} {} {} {} {}", run().parts.size(), point.metric, point.source,
          point.step ? std::to_string(*point.step) : "-", ns_of(point.time), point.value));
      return {};
    }
    Result<> event(const TextEvent& event) override {
      std::string text(event.name);
      for (const auto& [key, value] : event.attributes) text += fmt::format(" {}={}", key, value);
      run().events.push_back(std::move(text));
      return {};
    }
    Result<> medium(std::string_view path, std::string_view content) override {
      run().media[std::string(path)] = content;
      return {};
    }
    Result<> flush() override { return {}; }
    void param(std::string_view key, std::string_view value) override {
      run().params[std::string(key)] = value;
    }
    void tag(std::string_view key, std::string_view value) override {
      run().tags[std::string(key)] = value;
    }
    void remember(std::string_view text) override { run().state = text; }
    Result<> finish(const RunEnding& ending) override {
      run().ending = ending;
      return {};
    }

   private:
    KeptRun& run() { return importer_.runs[index_]; }
    KeepingImporter& importer_;
    std::size_t index_;
  };
};

}  // namespace corral::imports
