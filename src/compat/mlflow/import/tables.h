// Copies the tables of an MLflow database other than runs and points: experiments with their tags,
// the registry, logged models, and traces.
//
// Rows that the store already has stay as they are, so a second import adds nothing. A transaction
// holds a few hundred rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/import/source.h"
#include "core/ids.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

// The number of items of one kind in the source, and of those in the store.
struct Count {
  std::string what;
  std::int64_t source = 0;  // items that cannot be imported are not counted
  std::int64_t stored = 0;  // items of `source` in the store; complete if equal
  std::optional<std::int64_t> added{};
  std::int64_t left_out = 0;           // rows that belong to nothing that is in the store
  std::vector<std::string> missing{};  // the first few, named

  [[nodiscard]] bool complete() const { return stored >= source; }
  // `name()` is asked only when less is there.
  template <class Name>
  void add(std::int64_t wanted, std::int64_t there, Name&& name) {
    constexpr std::size_t kMostNamed = 5;
    source += wanted;
    stored += std::min(wanted, there);
    if (there < wanted && missing.size() < kMostNamed) missing.push_back(name());
  }
};

// Maps the source's ids to the store's: equal unless another experiment has the id here.
using Experiments = std::map<std::int64_t, ExperimentId>;

// Experiments are matched by name. With `default_locations` new ones get the store's default
// artifact location instead of the source's.
Result<Experiments> copy_experiments(Source& source, Store& store, bool default_locations);

struct Copied {
  std::string what;
  std::int64_t added = 0;
};
Result<std::vector<Copied>> copy_tables(Source& source, Store& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);

// Counts afterwards the source's rows that the store has. Rows are looked up by their keys.
Result<std::vector<Count>> count_tables(Source& source, const Reader& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);
Result<Count> count_experiments(const Reader& store, const Experiments& experiments);

// ---- spans, from the database of MLflow 3.5 and newer
//
// As if OTLP had sent them, they are stored with their traces and become phases of the traces'
// runs. Stored spans are skipped. A page of spans is written as phases first: an import that was
// killed in between repeats both, which changes nothing. Traces and their runs must be imported
// before.

inline constexpr std::string_view kSpans = "spans";

struct CopiedSpans {
  std::int64_t added = 0;
  std::int64_t archived = 0;          // their content is in another place
  std::vector<std::string> unread{};  // the first few: which, and why
};
Result<CopiedSpans> copy_spans(Source& source, Store& store, const Reader& reader,
                               const maintain::Watch& watch);

}  // namespace corral::store::importing
