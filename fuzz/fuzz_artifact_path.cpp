// Artifact paths: what is let through stays inside, as a name and when it is checked again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compat/mlflow/wire/artifact_path.h"
#include "core/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto path = corral::mlflow::artifact_path(text);
  if (!path || path->empty()) return 0;
  if (corral::mlflow::artifact_path(*path).value_or("") != *path) std::abort();
  if (path->find('\\') != std::string::npos || path->find('\0') != std::string::npos) std::abort();
  for (const std::string_view segment : corral::split(*path, '/')) {
    if (segment.empty() || segment == "." || segment == "..") std::abort();
  }
  return 0;
}
