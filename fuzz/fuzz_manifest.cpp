// JSON of anybody: what is read is written and read again as the same; a manifest that is
// understood is written as one that is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/json.h"
#include "core/text.h"
#include "spool/run_directory.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = corral::Json::parse(text);
  if (json) {
    const std::string once = json->dump();
    const auto again = corral::Json::parse(once);
    check(corral::is_utf8(once) && again.has_value() && again->dump() == once);
  } else {
    check(json.error().message.find("at byte ") != std::string::npos &&
          corral::json_error_position(text) <= size);
  }
  const auto manifest = corral::spool::parse_manifest(text);
  if (manifest) {
    const std::string once = corral::spool::to_json(*manifest);
    const auto again = corral::spool::parse_manifest(once);
    check(again.has_value() && corral::spool::to_json(*again) == once);
  }
  return 0;
}
