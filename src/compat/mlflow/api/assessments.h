// Assessments of traces: feedback, expectations and references to issues.
//
// Each is stored with its trace, as checked JSON in the form that MLflow's clients read; unknown
// fields are dropped.
#pragma once

#include <string>

#include "compat/mlflow/api/entities.h"
#include "core/json.h"

namespace corral::server::mlflow {

// Reads an assessment of `trace`; gives it a new id if it has none.
Answer<Json> read_assessment(Message& in, const std::string& trace);
// Reads the list of assessments in a trace's record, as JSON by id.
Answer<tracking::Tags> read_assessments(Message& trace_info, const std::string& trace);

}  // namespace corral::server::mlflow
