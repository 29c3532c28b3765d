// Page tokens of MLflow's lists: base64 of {"offset": N}, N >= 1; of histories {"offset": N,
// "timestamp": T}: behind the first N points (N >= 0) at time T. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/error.h"

namespace corral::mlflow {

std::string page_token(std::int64_t offset);
// Returns 0 for an empty token.
Answer<std::int64_t> parse_page_token(std::string_view token);

struct HistoryToken {
  std::int64_t time_ms = 0;
  std::int64_t offset = 0;
};
std::string history_token(const HistoryToken& place);
// Returns nullopt for an empty token.
Answer<std::optional<HistoryToken>> parse_history_token(std::string_view token);

}  // namespace corral::mlflow
