// Filter text and order_by clauses of MLflow's searches: what is taken is the same when printed and
// read again.
#include <cstdlib>
#include <string_view>

#include "compat/mlflow/wire/test_print_filter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corral::mlflow;
  if (size == 0) return 0;
  const auto kind = static_cast<SearchKind>(data[0] % 6);
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto parsed = parse_filter(kind, text); parsed && testing::printable(*parsed)) {
    const auto again = parse_filter(kind, testing::print_filter(kind, *parsed));
    if (!again || *again != *parsed) std::abort();
  }
  if (const auto parsed = parse_order_by(kind, {text}); parsed && parsed->size() != 1) std::abort();
  return 0;
}
