// Files of runs as they arrive over HTTP.
//
// The first file of a run fixes the place of all its files, also when the run moves to another
// experiment. If the run is removed before a file is complete, the file is removed like the run's
// other files. All functions block and may be called from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"
#include "server/core/http_types.h"
#include "store/search/runs.h"

namespace corral::server {

// Stores the request's body, streamed or not, at a path of the store, and reports the file
// (door::on_artifact); `answer` makes the answer. Nothing of the file remains after an error.
// kNotFound: the run that the path names is removed.
using FileAnswer = std::function<Response(const Result<>& stored)>;
Response receive_file(const Request& request, Context& context, const std::string& path,
                      FileAnswer answer);
// The two halves of receive_file(), for a file that arrives another way: call the first before its
// first byte, the second when it is complete.
Result<> expect_file(Context& context, std::string_view path);
Result<> settle_file(Context& context, std::string_view path);

// Returns the run and fixes its artifact_uri; nothing: there is no such run.
Result<std::optional<store::tracking::RunRow>> run_for_upload(Context& context, RunId id);

}  // namespace corral::server
