// Reading and Writing: a snapshot and a transaction of a store, as the callers of
// Reader::inspect() and Store::change() hold them.
//
// Each is valid during that call, on its thread. Callers pass them to functions of tables/ and
// search/. They are opaque: only code that may name sql::Connection (store/ and compat/, proved by
// tools/check_layers.py) can run SQL through them, by the conversions below.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// The part of a store that a reader may see: all of it, or all but what lies in some spaces. Every
// Reader is made with one.
//
// A space holds the experiments, boards, lists and reports whose names begin with its own and '/',
// and the registered models with '.' instead, because theirs have no '/' (tables/spaces.h).
// everything() is called by cli/, by the server's wiring and by tests alone
// (tools/check_layers.py); all other code passes on the Reader that it was given. Cheap to copy.
class Access {
 public:
  static Access everything() { return {}; }
  static Access all_but(std::vector<std::string> spaces) {
    Access access;
    if (!spaces.empty())
      access.hidden_ = std::make_shared<const std::vector<std::string>>(std::move(spaces));
    return access;
  }
  [[nodiscard]] bool sees_all() const { return hidden_ == nullptr; }
  // The hidden space in which this name lies; empty: none.
  [[nodiscard]] std::string_view hidden_space_of(std::string_view name,
                                                 char separator = '/') const {
    if (sees_all()) return {};
    for (const std::string& space : *hidden_) {
      if (name.size() > space.size() && name.starts_with(space) && name[space.size()] == separator)
        return space;
    }
    return {};
  }
  // Not of one that sees all.
  [[nodiscard]] const std::vector<std::string>& hidden() const { return *hidden_; }

 private:
  Access() = default;
  std::shared_ptr<const std::vector<std::string>> hidden_;  // null: none
};

// The user from whom frames come.
struct Sender {
  std::string user = {};  // records the runs that the frames make; empty: not known
  // A run does not move to an experiment that its sender does not see.
  Access access = Access::all_but({});
};

class Reading {
 public:
  Reading(sql::Reading snapshot, Access access) : snapshot_(snapshot), access_(std::move(access)) {}
  [[nodiscard]] const Access& access() const { return access_; }
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
