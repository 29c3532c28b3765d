// The page's drawing code (web/src/plot/), run here by an engine of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "script/script.h"

namespace corral::cli {

// The file of the code, and the object that it gives its functions to.
inline constexpr std::string_view kPageFile = "plot.js";
inline constexpr const char* kPageCode = "corralPlot";
// The longest time of a call, and of an answer that it waits for.
inline constexpr Nanos kLongestPlot = std::chrono::minutes(5);

// A file of the page whose name begins so. kUnsupported: this program was built without the page.
Result<std::string_view> page_file(std::string_view stem);
// `answer` answers the code's requests, but those for files of the page.
Result<script::Script> load_page_code(
    std::function<Result<std::string>(const Json& request)> answer);

}  // namespace corral::cli
