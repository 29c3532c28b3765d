// Assessments of traces: feedback, expectations and references to issues.
//
// Each is kept with its trace as the JSON that MLflow's clients read, checked and without fields
// that are unknown.
#pragma once

#include <string>

#include "compat/mlflow/api/entities.h"
#include "core/json.h"

namespace corral::server::mlflow {

// An assessment of `trace` as it is kept; a new id unless it has one.
Answer<Json> read_assessment(Message& in, const std::string& trace);
// The list of a trace's record: JSON by id.
Answer<tracking::Tags> read_assessments(Message& trace_info, const std::string& trace);

}  // namespace corral::server::mlflow
