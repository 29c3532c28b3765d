// Params and tags of a run, written in the caller's transaction. Shared by log-parameter, set-tag
// and log-batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "compat/mlflow/api/entities.h"

namespace corral::server::mlflow {

using KeyValues = std::span<const std::pair<std::string, std::string>>;

// A param never changes its value: one conflict refuses all of `params`. The params that radT gives
// its runs also set the workload.
enum class Params : std::uint8_t { kOne, kBatch };  // decides the wording of the refusal
Answer<> set_params(store::sql::Connection& db, const tracking::RunRow& run, KeyValues params,
                    Params form);
// The tag mlflow.runName and the run's name are kept equal.
Answer<> set_tags(store::sql::Connection& db, const tracking::RunRow& run, KeyValues tags);

}  // namespace corral::server::mlflow
