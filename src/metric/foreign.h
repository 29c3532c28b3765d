// Metrics that other tools measured, as they name them: radT's listeners and MLflow's system
// metrics. The table has the unit of their values, and the metric of the catalogue that measures
// the same.
//
// Series keep the names and values they were logged with; units and aliases are looked up when they
// are shown, so that a pattern finds a series by either name. One constexpr table (foreign.cpp).
// Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corral::metric {

struct Foreign {
  std::string_view unit;   // unit of the values as logged; "" for counts
  std::string_view alias;  // the same metric in the catalogue; "" if Corral does not measure it
  double factor = 1;       // a value times this is one of the alias, or of its rate for a counter
  std::string_view source{};  // the part of the name that says which device or core; view of it
};

// Nothing for a metric that no known tool measures.
std::optional<Foreign> find_foreign(std::string_view name);

// Returns true if a pattern (core/text.h, glob_match) matches this metric: by its name, by its
// alias, or as the whole foreign name of its quantity.
bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace corral::metric
