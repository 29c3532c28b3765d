// Tables of nsys and ncu, of any version and any bytes: what is understood has times that can be
// added, and makes a summary that is JSON.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/json.h"
#include "core/text.h"
#include "run/record/profile_summary.h"

namespace {

using corral::run::DeviceTime;

void check(bool holds) {
  if (!holds) std::abort();
}

void look_at(const corral::Result<std::vector<DeviceTime>>& times) {
  if (!times) {
    check(times.error().code == corral::Code::kUnsupported && !times.error().message.empty());
    return;
  }
  for (const DeviceTime& time : *times) check(!time.kind.empty() && std::isfinite(time.ms));
  const std::string text = corral::run::profile_summary(
      {.tool = "nsys", .steps = {{1, 2}}, .start_ns = 5, .end_ns = 9}, *times);
  const auto json = corral::Json::parse(text);
  check(corral::is_utf8(text) && json && json->find("top")->as_array() != nullptr);
  check(json->find("top")->as_array()->size() <= times->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view csv(reinterpret_cast<const char*>(data), size);
  look_at(corral::run::parse_nsys_table(csv));
  look_at(corral::run::parse_ncu_table(csv));
  return 0;
}
