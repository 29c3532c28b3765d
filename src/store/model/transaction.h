// Reading and Writing: a snapshot and a transaction of a store, as the callers of
// Reader::inspect() and Store::change() hold them.
//
// Each is valid during that call, on its thread. Callers pass them to functions of tables/ and
// search/. They are opaque: only code that may name sql::Connection (store/ and compat/, proved by
// tools/check_layers.py) can run SQL through them, by the conversions below.
#pragma once

#include <functional>

#include "core/result.h"

namespace corral::store {

namespace sql {
class Connection;
class LatestMetrics;
// A snapshot of the database, and the metrics' latest values that are remembered.
struct Reading {
  Connection& db;
  LatestMetrics& latest;
};
}  // namespace sql

// The part of a store that a reader may see. Every Reader is made with one.
//
// It has a single value today. everything() is called by cli/, by the server's wiring and by tests
// alone (tools/check_layers.py); all other code passes on the Reader that it was given.
class Access {
 public:
  static Access everything() { return {}; }

 private:
  Access() = default;
};

class Reading {
 public:
  Reading(sql::Reading snapshot, Access access) : snapshot_(snapshot), access_(access) {}
  [[nodiscard]] Access access() const { return access_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator sql::Reading&() { return snapshot_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator sql::Connection&() const { return snapshot_.db; }
  sql::Connection* operator->() const { return &snapshot_.db; }

 private:
  sql::Reading snapshot_;
  Access access_;
};

class Writing {
 public:
  explicit Writing(sql::Connection& db) : db_(db) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator sql::Connection&() const { return db_; }
  sql::Connection* operator->() const { return &db_; }

 private:
  sql::Connection& db_;
};

using Inspect = std::function<Result<>(Reading&)>;
// It may be called again after a conflict with another server's writes, so it must assign every
// variable of its caller on each call. kConflict reports such a conflict; any other error rolls its
// writes back.
using Change = std::function<Result<>(Writing&)>;

}  // namespace corral::store
