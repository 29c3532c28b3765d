// RunWriter: one imported run on its way into a store, through the store's server.
//
// Each part of the run is a session whose id follows from the run and the part's name; its first
// frame has number 1, item n of the part number n + 1. A part that is sent again begins with the
// first item that the store lacks. Params, tags, start and end are a session of their own, whose id
// follows from them: as they were, they are not sent again. A run is made with its first item, or
// at the end if it has params or tags; one that has none of these is not made. Memory is bounded by
// a few frames and the names of the series.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "imports/frame_sender.h"
#include "imports/imported_run.h"

namespace corral::imports {

struct ImportCounts {
  std::uint64_t runs = 0, new_runs = 0;
  std::uint64_t points = 0, new_points = 0;
  std::uint64_t events = 0, new_events = 0;
  std::uint64_t params = 0, tags = 0;
  std::uint64_t media = 0, sent_media = 0, refused_media = 0;
  std::uint64_t empty_runs = 0;   // without points, events, params and tags: they are not made
  std::uint64_t moved_times = 0;  // times that no frame can carry became the nearest one
  std::uint64_t cut_texts = 0;    // names and values over the limits of core/limits.h
};

// The store that runs go to. Outlives its writers.
struct Store {
  upload::Transport& transport;
  std::function<Result<bool>(RunId)> has_run;
  // Returns the run's info of this key as JSON text; empty: there is none.
  std::function<Result<std::string>(RunId, const std::string& key)> info_of{};
  ImportCounts counts{};
};

class RunWriter : public RunSink {
 public:
  static Result<std::unique_ptr<RunWriter>> open(Store& store, const RunDetails& run);

  // See Importer::remembered().
  static Result<std::optional<std::string>> remembered(Store& store, const std::string& identity);

  Result<> part(std::string_view name) override;
  Result<> point(const Point& point) override;
  Result<> event(const TextEvent& event) override;
  Result<> medium(std::string_view path, std::string_view content) override;
  Result<> flush() override;
  void param(std::string_view key, std::string_view value) override;
  void tag(std::string_view key, std::string_view value) override;
  void remember(std::string_view text) override;
  Result<> finish(const RunEnding& ending) override;
  [[nodiscard]] RunId id() const { return id_; }

 private:
  struct Track {
    std::vector<BootTime> times;
    std::vector<std::int64_t> steps;  // empty: without
    std::vector<double> values;
  };
  struct Part {
    FrameSender sender;
    std::uint64_t durable = 0;  // the store's, when the part began
    std::uint64_t sent = 0;     // number of the last item that is in a frame or in the store
    std::uint64_t last = 0;     // number of the last item
    std::unordered_map<std::string, std::uint32_t> series;  // by metric, NUL, source
  };

  RunWriter(Store& store, RunDetails run, const OwnRun& own)
      : store_(store), run_(std::move(run)), id_(own.id), known_(own.known) {}
  Result<> make_run();
  [[nodiscard]] codec::SessionBody session_body() const;
  std::uint32_t series_of(const Point& point);
  // Counts an item; false: the store has it.
  bool take_item();
  Result<> after_item(std::size_t bytes);
  Result<> send_frame();
  [[nodiscard]] codec::SamplesBody take_samples();
  Result<> send_facts(const RunEnding& ending);
  // Paths of the run's media that are there.
  const std::set<std::string>& media_of_server();
  BootTime boot_time_of(UtcTime time);
  std::string fit(std::string_view text, std::size_t bytes);
  std::string fit_name(std::string_view name);

  Store& store_;
  RunDetails run_;
  RunId id_;
  bool known_;         // the store has the run
  bool made_ = false;  // make_run() has succeeded
  std::optional<Part> part_;
  std::optional<std::set<std::string>> media_;
  // The next frame.
  codec::SchemaBody schema_;
  codec::EventsBody events_;
  std::map<std::pair<bool, std::uint32_t>, Track> tracks_;
  std::size_t bytes_ = 0;
  std::map<std::pair<codec::FactKind, std::string>, std::string> facts_;
  std::string key_;
};

}  // namespace corral::imports
