#include "compat/mlflow/api/call.h"

#include <fmt/core.h>

#include <array>

#include "core/text.h"

namespace corral::server::mlflow {

void ListText::separate(std::string& out) {
  if (std::exchange(begun_, true)) {
    out += ',';
  } else {
    out += '{';
    append_json_string(out, name_);
    out += ":[";
  }
}

void ListText::finish(std::string& out, std::string_view next_page) const {
  out += begun_ ? ']' : '{';
  if (!next_page.empty()) {
    out += begun_ ? R"(,"next_page_token":)" : R"("next_page_token":)";
    append_json_string(out, next_page);
  }
  out += '}';
}

Response answer(const ApiError& error) {
  return json_response(wire::to_json(error), wire::http_status(error.code));
}

Response answer(Answer<Response> made) { return made ? *std::move(made) : answer(made.error()); }

Body empty_answer() { return std::string("{}"); }

Response answer(Body body) { return body ? json_response(*std::move(body)) : answer(body.error()); }

Answer<> check_content_type(const Request& request) {
  const std::string_view type = request.header("content-type");
  if (request.body.empty() || trim(type.substr(0, type.find(';'))) == "application/json") return {};
  return invalid("Bad Request. Content-Type must be one of ['application/json'].");
}

Answer<tracking::Search> read_search(Message& in, const SearchForm& form) {
  tracking::Search search;
  const std::string filter = in.text("filter");
  const auto orders = in.texts("order_by");
  const std::string token = in.text("page_token");
  search.paging.limit = in.maybe_integer("max_results").value_or(form.fallback);
  TRY_API(in.check());
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
  search.filter = TRY_API(wire::parse_filter(form.kind, filter));
  search.orders = TRY_API(wire::parse_order_by(form.kind, orders));
  search.paging.offset = TRY_API(wire::parse_page_token(token));
  return search;
}

Answer<tracking::View> read_view(Message& in, std::string_view name) {
  // By the numbers of the enum.
  static constexpr std::array<std::string_view, 4> kViews = {"", "ACTIVE_ONLY", "DELETED_ONLY",
                                                             "ALL"};
  const auto view = in.maybe_enum(name, kViews).value_or(1);
  TRY_API(in.check());
  return view == 1   ? tracking::View::kActive
         : view == 2 ? tracking::View::kDeleted
                     : tracking::View::kAll;
}

}  // namespace corral::server::mlflow
