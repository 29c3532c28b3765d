// The stream of points and events that a reader of another tool's files gives, run by run.
//
// A reader asks its Importer for a RunSink for each run and feeds it. The items of a part (an event
// file, a table) are numbered in the order in which they are given, and a part only grows: the same
// file, read again later, gives the same items first. That is what makes a repeated import add only
// what is new. Nothing is held: texts are views for the call. One thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::imports {

struct Point {
  std::string_view metric;
  std::string_view source{};
  std::optional<std::int64_t> step{};
  UtcTime time{};
  double value = 0;
};

struct TextEvent {
  UtcTime time{};
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> attributes{};
};

struct RunDetails {
  // A text that no other run of any source has; the run's id follows from it.
  std::string identity;
  std::string name, experiment;
  std::string host{};  // empty: not known
  UtcTime start{};
};

struct RunEnding {
  std::optional<UtcTime> start{};  // known better than in RunDetails
  UtcTime end{};
  std::optional<std::int32_t> exit_code{};  // nothing: nobody says how it ended
  bool running = false;                     // it has not ended
};

class RunSink {
 public:
  virtual ~RunSink() = default;
  // The items that follow are of this part of the run, whose name no other part of it has.
  virtual Result<> part(std::string_view name) = 0;
  virtual Result<> point(const Point& point) = 0;
  virtual Result<> event(const TextEvent& event) = 0;
  // Stores a file of the run, a medium (core/media_name.h): at once, and as it is not numbered,
  // perhaps again in a repeated import.
  virtual Result<> medium(std::string_view path, std::string_view content) = 0;
  // Sends what waits. For readers that feed many runs by turns, each of which holds a little.
  virtual Result<> flush() = 0;
  // The last value of a key counts.
  virtual void param(std::string_view key, std::string_view value) = 0;
  virtual void tag(std::string_view key, std::string_view value) = 0;
  // Kept with the run, for Importer::remembered() of a later import.
  virtual void remember(std::string_view text) = 0;
  // Once, after everything else.
  virtual Result<> finish(const RunEnding& ending) = 0;
};

class Importer {
 public:
  virtual ~Importer() = default;
  virtual Result<std::unique_ptr<RunSink>> begin(const RunDetails& run) = 0;
  // Returns what an import of the run with this identity remembered; nothing: there is no such run.
  virtual Result<std::optional<std::string>> remembered(const std::string& identity) = 0;
  // The progress of `what`, in bytes or in whatever the reader counts; an error: it is to stop.
  virtual Result<> at(std::string_view what, std::int64_t done, std::int64_t total) = 0;

  // Counts things that are not imported, as "images". Kinds beyond the first few dozen, which only
  // damaged files have, are counted together.
  void leave_out(std::string_view what, std::uint64_t count = 1) {
    constexpr std::size_t kKinds = 48;
    auto known = left_out_.find(what);
    if (known == left_out_.end())
      known = left_out_.try_emplace(left_out_.size() < kKinds ? std::string(what) : "other items")
                  .first;
    known->second += count;
  }
  // A line for the person who imports, such as where a file is damaged.
  void note(std::string text) {
    constexpr std::size_t kNotes = 100;
    if (notes_.size() < kNotes) notes_.push_back(std::move(text));
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& left_out() const {
    return left_out_;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // A part of a file could not be read: what was readable is imported, and the command fails.
  void damaged(std::string text) {
    damaged_ = true;
    note(std::move(text));
  }
  [[nodiscard]] bool saw_damage() const { return damaged_; }

 private:
  std::map<std::string, std::uint64_t, std::less<>> left_out_;
  std::vector<std::string> notes_;
  bool damaged_ = false;
};

// Unix seconds, as most tools keep them, to the nearest nanosecond; nothing for what no clock says.
inline std::optional<UtcTime> time_of_seconds(double unix_seconds) {
  if (!(unix_seconds > -9e9 && unix_seconds < 9e9)) return std::nullopt;
  // Apart, both parts of a double are exact.
  const double whole = std::floor(unix_seconds);
  const long double rest = static_cast<long double>(unix_seconds - whole) * 1e9L;
  return utc_time(static_cast<std::int64_t>(whole) * 1'000'000'000 + std::llround(rest));
}

}  // namespace corral::imports
