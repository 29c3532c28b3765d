#include "store/maintain/key_counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace corral::store::maintain {
namespace {

// The last keys of tables whose newest rows may have been deleted.
struct Trace {
  std::string_view table, sql;
};
constexpr std::array kTraces = {
    Trace{"runs", "SELECT max(key) FROM removed_runs"},
    Trace{"runs", "SELECT max(owner) FROM removals WHERE owner_kind = 0"},
    Trace{"runs", "SELECT max(run) FROM sessions"},
    Trace{"runs", "SELECT max(owner) FROM series WHERE owner_kind = 0"},
    Trace{"runs", "SELECT max(run) FROM facts"},
    Trace{"runs", "SELECT max(run) FROM phases"},
    Trace{"runs", "SELECT max(run) FROM events"},
    Trace{"runs", "SELECT max(run) FROM logs"},
    Trace{"runs", "SELECT max(run) FROM log_streams"},
    Trace{"workloads", "SELECT max(workload) FROM removed_runs"},
    Trace{"workloads", "SELECT max(workload) FROM removals"},
    Trace{"workloads", "SELECT max(owner) FROM removals WHERE owner_kind = 1"},
    Trace{"workloads", "SELECT max(workload) FROM sessions"},
    Trace{"workloads", "SELECT max(owner) FROM series WHERE owner_kind = 1"},
    Trace{"hosts", "SELECT max(owner) FROM removals WHERE owner_kind = 2"},
    Trace{"hosts", "SELECT max(machine) FROM sessions"},
    Trace{"hosts", "SELECT max(owner) FROM series WHERE owner_kind = 2"},
    Trace{"series", "SELECT max(series) FROM session_series"},
    Trace{"series", "SELECT max(series) FROM blocks"},
    Trace{"series", "SELECT max(series) FROM pyramid"},
    Trace{"block_times", "SELECT max(times) FROM blocks"},
};

std::string with_names(std::string_view sql, const Table& table, std::int64_t last) {
  return fmt::format(fmt::runtime(sql), table.name, columns_of(table).front().name, last);
}

}  // namespace

Result<> skip_used_keys(sql::Connection& from, sql::Connection& to, const Table& table) {
  std::int64_t last = TRY(from.number(with_names(from.dialect().last_key, table, 0))).value_or(0);
  last =
      std::max(last, TRY(to.number(with_names("SELECT max({1}) FROM {0}", table, 0))).value_or(0));
  for (const Trace& trace : kTraces) {
    if (trace.table == table.name) last = std::max(last, TRY(to.number(trace.sql)).value_or(0));
  }
  if (last <= 0) return {};
  return to.script(with_names(to.dialect().skip_keys, table, last));
}

}  // namespace corral::store::maintain
