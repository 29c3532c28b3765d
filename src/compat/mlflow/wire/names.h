// Limits of names and values in MLflow's interface: lengths, letters, paths. Messages are MLflow's
// own. Pure, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/error.h"

namespace corral::mlflow {

inline constexpr std::size_t kKeyLength = 250;     // keys of metrics, params, tags
inline constexpr std::size_t kParamLength = 6000;  // longer ones are cut
inline constexpr std::size_t kTagLength = 8000;    // likewise
inline constexpr std::size_t kExperimentNameLength = 500;
inline constexpr std::size_t kArtifactLocationLength = 2048;
// Limits of ids and names in the store's indexes: an index row of PostgreSQL holds 2,704 bytes.
inline constexpr std::size_t kModelIdLength = 250;
inline constexpr std::size_t kDatasetNameLength = 500;
inline constexpr std::size_t kDatasetDigestLength = 36;
inline constexpr std::size_t kBatchMetrics = 1000;
inline constexpr std::size_t kBatchParams = 100;
inline constexpr std::size_t kBatchTags = 100;
inline constexpr std::size_t kBatchEntities = 1000;

// The statuses of runs, by the numbers of MLflow's enum.
inline constexpr std::array<std::string_view, 6> kRunStatuses = {"",         "RUNNING", "SCHEDULED",
                                                                 "FINISHED", "FAILED",  "KILLED"};

// A name of a metric, param or tag: letters and digits of any script and "_ - . : / space", as long
// as it is its own normal path (no "..", "//", leading "/"). `path`: of the field in the request;
// `what`: how the message about its length calls it.
Answer<> check_key(std::string_view key, std::string_view path, std::string_view what = "key");
// Experiments and registered models: not empty, within the length.
Answer<> check_experiment_name(std::string_view name);
// 1 to 256 letters, digits, "_", "-", the first no "-".
Answer<> check_run_id(std::string_view id);

// At most `most` code points; `path`: of the field in the request.
Answer<> check_length(std::string_view path, std::string_view text, std::size_t most);

// Returns the first `length` code points of UTF-8.
std::string_view cut(std::string_view text, std::size_t length);
std::size_t code_points(std::string_view text);

}  // namespace corral::mlflow
