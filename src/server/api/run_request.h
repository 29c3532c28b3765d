// The body of POST /runs/search. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/api/request_fields.h"
#include "store/search/find_runs.h"

namespace corral::server::api {

// The lists `runs` and `experiments`, none when they are absent or empty.
std::vector<RunId> read_run_ids(RequestFields& fields, const Json& json, std::size_t most);
std::vector<ExperimentId> read_experiment_ids(RequestFields& fields, const Json& json);

struct RunSearchRequest {
  store::tracking::RunQuestion question;
  // The names in the request, parallel to those of the question.
  std::vector<std::string> columns, facets;
};

Parsed<RunSearchRequest> parse_run_search(std::string_view text);

}  // namespace corral::server::api
