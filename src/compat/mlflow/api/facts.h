// Params and tags of a run, in the caller's transaction: what log-parameter, set-tag and log-batch
// share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "compat/mlflow/api/entities.h"

namespace corral::server::mlflow {

using KeyValues = std::span<const std::pair<std::string, std::string>>;

// A param that is there keeps its value: another one is refused, and with it all of them. Those
// that radT gives its runs say the workload, too.
enum class Params : std::uint8_t { kOne, kBatch };  // how the refusal is worded
Answer<> set_params(store::sql::Connection& db, const tracking::RunRow& run, KeyValues params,
                    Params form);
// A run's name is the tag mlflow.runName, and the other way round.
Answer<> set_tags(store::sql::Connection& db, const tracking::RunRow& run, KeyValues tags);

}  // namespace corral::server::mlflow
