// Finding: a fault of a store, in words a person can act on, and the runs that it touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

struct Finding {
  std::string table;  // "blocks", "pyramid", ...; "database" for what the engine found
  std::string what;
  std::vector<RunId> runs;  // touched, as far as known; at most a few
};

// Gathers findings and looks up their runs on the same connection. One thread.
class Findings {
 public:
  explicit Findings(sql::Connection& db) : db_(db) {}

  void add(std::string table, std::string what, std::vector<RunId> runs = {});
  void add_session(std::string table, const std::string& what, std::int64_t session);
  void add_run(std::string table, const std::string& what, std::int64_t run);  // its key
  void add_series(std::string table, const std::string& what, SeriesId series);

  [[nodiscard]] const std::vector<Finding>& kept() const { return kept_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t kMost = 1000;  // kept; the rest is counted
  std::vector<RunId> find_runs(const char* sql, std::int64_t key);

  sql::Connection& db_;
  std::vector<Finding> kept_;
  std::size_t count_ = 0;
};

}  // namespace corral::store::maintain
