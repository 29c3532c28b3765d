#include "compat/mlflow/api/search.h"

#include <fmt/core.h>

#include <array>

#include "compat/mlflow/wire/page_token.h"

namespace corral::server::mlflow {

Answer<tracking::Search> read_search(Message& in, const SearchForm& form) {
  tracking::Search search;
  const std::string filter = in.text("filter");
  const auto orders = in.texts("order_by");
  const std::string token = in.text("page_token");
  search.paging.limit = in.maybe_integer("max_results").value_or(form.fallback);
  TRY_API(all_read(in));
  if (search.paging.limit < 1) {
    return invalid(fmt::format(
        "Invalid value {} for parameter 'max_results' supplied. It must be a positive integer",
        search.paging.limit));
  }
  if (search.paging.limit > form.most) {
    return invalid(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be at most {}",
                    search.paging.limit, form.most));
  }
  search.filter = TRY_API(corral::mlflow::parse_filter(form.kind, filter));
  search.orders = TRY_API(corral::mlflow::parse_order_by(form.kind, orders));
  search.paging.offset = TRY_API(corral::mlflow::parse_page_token(token));
  return search;
}

Answer<tracking::View> read_view(Message& in, std::string_view name) {
  // By the numbers of the enum.
  static constexpr std::array<std::string_view, 4> kViews = {"", "ACTIVE_ONLY", "DELETED_ONLY",
                                                             "ALL"};
  const auto view = in.maybe_enum(name, kViews).value_or(1);
  TRY_API(all_read(in));
  return view == 1   ? tracking::View::kActive
         : view == 2 ? tracking::View::kDeleted
                     : tracking::View::kAll;
}

void write_next_page(JsonWriter& json, const tracking::Paging& paging, bool more,
                     std::size_t rows) {
  if (!more) return;
  json.member("next_page_token",
              corral::mlflow::page_token(paging.offset + static_cast<std::int64_t>(rows)));
}

}  // namespace corral::server::mlflow
