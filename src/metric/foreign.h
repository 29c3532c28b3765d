// Metrics that other tools measured, as they name them: radT's listeners and MLflow's system
// metrics. What their values count, and which metric of the catalogue counts the same.
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
  std::string_view unit;   // of the values as logged; "" for counts
  std::string_view alias;  // of the catalogue: the same thing; "" when Corral does not measure it
  double factor = 1;       // a value times this is one of the alias, or of its rate for a counter
  std::string_view source{};  // the part of the name that says which device or core; view of it
};

// Nothing for a metric that no known tool measures.
std::optional<Foreign> find_foreign(std::string_view name);

// Whether a pattern (core/text.h, glob_match) means this metric: by its name, by its alias, or as
// the whole foreign name of what this metric counts.
bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace corral::metric
