#include "compat/mlflow/wire/image_name.h"

#include <algorithm>
#include <vector>

#include "core/text.h"

namespace corral::mlflow {
namespace {

constexpr std::int64_t kLatestMs = INT64_MAX / 1'000'000;

std::optional<ImageName> parse_with(std::string_view file, char mark) {
  // The key itself may have the mark: the other parts are counted from the end.
  const std::vector<std::string_view> parts = split(file, mark);
  std::size_t count = parts.size();
  const bool compressed = count > 0 && parts[count - 1].starts_with("compressed.");
  if (compressed) --count;
  if (count < 6 || parts[count - 3] != "timestamp" || parts[count - 5] != "step")
    return std::nullopt;
  const auto step = parse_int(parts[count - 4]);
  const auto time = parse_int(parts[count - 2]);
  if (!step || !time || *time < 0 || *time > kLatestMs) return std::nullopt;
  const auto size = static_cast<std::size_t>(parts[count - 5].data() - file.data());
  ImageName image{.key = std::string(file.substr(0, size - 1)),
                  .step = *step,
                  .time = utc_time(*time * 1'000'000),
                  .compressed = compressed};
  std::ranges::replace(image.key, '#', '/');
  return image.key.empty() ? std::nullopt : std::optional(std::move(image));
}

}  // namespace

std::optional<ImageName> parse_image_name(std::string_view file) {
  if (auto image = parse_with(file, '%')) return image;
  return parse_with(file, '+');
}

}  // namespace corral::mlflow
