// OTLP's metrics, protobuf and JSON: what is taken stays within its bounds and has names and labels
// that can be recorded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compat/mlflow/wire/otlp.h"
#include "compat/mlflow/wire/otlp_metrics.h"
#include "core/text.h"

namespace {

using namespace corral;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

void use(const Result<std::vector<mlflow::OtlpNumbers>>& groups) {
  if (!groups) return;
  std::size_t numbers = 0;
  std::size_t attributes = 0;
  for (const mlflow::OtlpNumbers& group : *groups) {
    numbers += group.numbers.size();
    attributes += group.resource.size();
    for (const mlflow::OtlpNumber& number : group.numbers) {
      check(is_utf8(number.name) && is_utf8(number.unit) && number.time_ns >= 0);
      attributes += number.attributes.size();
      for (const auto& [key, value] : number.attributes)
        check(is_utf8(key) && !value.dump().empty());
    }
  }
  check(attributes <= mlflow::kOtlpValues + numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  use(mlflow::parse_otlp_metrics_protobuf(text));
  use(mlflow::parse_otlp_metrics_json(text));
  return 0;
}
