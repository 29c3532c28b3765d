// Artifacts over HTTP: the code that MLflow's interface (mlflow/artifacts.cpp) and the native one
// (api/artifacts.cpp) share. All functions may block, and may be called from any thread.
//
// The client that logs to a run chooses the bytes and names of its artifacts. Answers to browsers
// are therefore sandboxed (no scripts, no origin), never sniffed, and have a type that is known to
// be harmless. Every other type is served as text or as a download.
//
// The first file of a run fixes the place of all its files, also when the run moves to another
// experiment. If the run is removed before a file is complete, the file is removed like the run's
// other files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"
#include "server/core/http_types.h"
#include "store/artifacts/artifact_store.h"
#include "store/search/runs.h"

namespace corral::server {

// Returns the path in the store for a run's artifact URI: "mlflow-artifacts:/path" (also with a
// host), or the store's own location with a path below. kInvalidArgument for places that are not in
// this store: their clients open them themselves. `inside` is a path within that place, as a client
// sent it.
Result<std::string> path_in_store(const store::artifacts::ArtifactStore& store,
                                  std::string_view uri, std::string_view inside);

enum class Disposition : unsigned char { kAttachment, kInline };
// Streams the requested file or range; 304 if the client has this version. `name` is the file name
// for saving it.
Response file_response(const Request& request, std::string_view name,
                       std::unique_ptr<store::artifacts::Reader> reader, Disposition disposition);

// True if a request's body is an artifact, to be stored while it comes.
bool streams_body(const Request& request);

// "text/plain; charset=utf-8" for what a browser might run, too.
std::string_view safe_content_type(std::string_view name);

// ---- uploads
// Stores the request's body, streamed or not, at a path of the store, reports the file
// (door::on_artifact) and tells open pages; `answer` makes the answer. Nothing of the file remains
// after an error. kNotFound: the run that the path names is removed.
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
