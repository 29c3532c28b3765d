// Fields that all searches of MLflow's interface have: filter, order, paging.
#pragma once

#include <cstdint>
#include <string_view>

#include "compat/mlflow/api/call.h"
#include "compat/mlflow/tables/search_experiments.h"
#include "compat/mlflow/wire/filter.h"
#include "core/json.h"

namespace corral::server::mlflow {

namespace tracking = store::tracking;

struct SearchForm {
  corral::mlflow::SearchKind kind;
  std::int64_t fallback = 0;  // max_results where the request has none
  std::int64_t most = 0;      // greatest max_results
};
// Reads filter, order_by, page_token and max_results.
Answer<tracking::Search> read_search(Message& in, const SearchForm& form);
Answer<tracking::View> read_view(Message& in, std::string_view name);
// Writes next_page_token if `more` rows follow these.
void write_next_page(JsonWriter& json, const tracking::Paging& paging, bool more, std::size_t rows);

}  // namespace corral::server::mlflow
