// Copies the tables of an MLflow database other than runs and points: experiments with their tags,
// the registry, logged models, and traces.
//
// Rows that the store already has stay as they are, so a second import adds nothing. A transaction
// holds a few hundred rows. Spans are copied by spans.h, but counted here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

}  // namespace corral::store::importing
