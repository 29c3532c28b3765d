// The file names that MLflow's log_image(key=, step=) gives, in the folder "images":
// KEY%step%N%timestamp%MS%UUID.png, where slashes of the key are '#'. Beside each lies a smaller
// copy, ...%compressed.webp. Some clients and tools have '+' for '%'. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace corral::mlflow {

inline constexpr std::string_view kImageFolder = "images";

struct ImageName {
  std::string key;
  std::int64_t step = 0;
  UtcTime time{};
  bool compressed = false;  // the smaller copy
};

// Nothing: the file has another name.
std::optional<ImageName> parse_image_name(std::string_view file);

}  // namespace corral::mlflow
