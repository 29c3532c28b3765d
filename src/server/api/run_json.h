// RUN, as lists and single answers write it (docs/api.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "query/summary.h"
#include "store/reader.h"

namespace corral::server::api {

// The members that a run has in lists and alone, within an object. `loss` may be null.
void write_run(JsonWriter& json, const store::Run& run, const query::Loss* loss);
// An element of `experiments`.
void write_experiment(JsonWriter& json, const store::Experiment& experiment);
// The text, or null when it is empty.
void write_optional_text(JsonWriter& json, std::string_view name, const std::string& text);
// The number of parts of each run's capture, listeners and sources that have a problem
// (docs/health.md).
Result<std::vector<std::int64_t>> health_problems(const store::Reader& store,
                                                  std::span<const RunId> runs);
// A value of `attributes`; null: there is none.
const std::string* find_fact(const codec::Attributes& attributes, std::string_view key);

}  // namespace corral::server::api
