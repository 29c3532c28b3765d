// The path of an artifact as a client of MLflow sends it, checked before any store sees it.
//
// The text itself is the name: "img%step%1%timestamp%1795" (MLflow 2's log_image) is a file of that
// name, even if it looks like an escape. A client could encode ".." several times for another
// program to decode, so the text must not lead out of the root after any number of decodings. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::mlflow {

// Returns the path relative to its root, without a slash at its end; empty for the root itself.
// `text` is decoded already, as often as its transport encodes it (once in a URL).
// kInvalidArgument ("Invalid path: ...") for absolute paths, also Windows', for "." and ".." and
// empty segments, '#', backslashes, NUL and other control characters, for invalid UTF-8, and for
// ".." or a slash at the front behind any number of encodings.
Result<std::string> artifact_path(std::string_view text);

}  // namespace corral::mlflow
