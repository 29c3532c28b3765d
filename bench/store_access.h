// The store as the benchmarks use it: every call whose signature may change is made here, once.
//
// A store is named by a directory (SQLite) or by a URL of PostgreSQL. Functions that fail end the
// program with the store's own message: a benchmark has no use for half an answer.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "store/store.h"
#include "store/test_reader.h"

namespace corral::bench {

struct StoreSpec {
  std::string location;        // directory or URL
  pid_t database = 0;          // a database server, whose CPU counts
  std::filesystem::path data;  // a database server's directory, whose files count
  [[nodiscard]] bool embedded() const { return location.find("://") == std::string::npos; }
  [[nodiscard]] std::filesystem::path files() const {
    return embedded() ? std::filesystem::path(location) : data;
  }
};

[[noreturn]] void give_up(const std::string& what);
template <class T>
T must(Result<T> result, const char* what) {
  if (!result) give_up(std::string(what) + ": " + result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::unique_ptr<store::Store> open_store(const StoreSpec& spec);
// Everything rises to where it will lie for good, as if all sessions had ended.
void settle(store::Store& store);
// Takes encoded frames as the server does with those of one request; all must be taken.
void append(store::Store& store, const std::vector<codec::ByteView>& frames);

RunId run_named(store::Store& store, const std::string& name);
// Ids of all series of the run, in order of declaration.
std::vector<SeriesId> series_of(store::Store& store, RunId run);

// Half open, UTC in ns; both 0: everything.
struct Window {
  std::int64_t from = 0;
  std::int64_t to = 0;
};
struct ChartAsk {
  std::vector<SeriesId> series;
  Window window;
  std::uint32_t width = 1500;
  bool exact = false;  // else what is first shown: borders on buckets
};
// Number of columns in the answer, so that it cannot be left out.
std::size_t chart(store::Store& store, const ChartAsk& ask);
// Mean with interval of one series of each of many runs.
std::size_t group_mean(store::Store& store, const ChartAsk& ask);
// Answers the page's list of runs: the newest 100 with their losses.
std::size_t list_runs(store::Store& store);

}  // namespace corral::bench
