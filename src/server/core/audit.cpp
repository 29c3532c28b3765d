#include "server/core/audit.h"

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "server/core/accounts.h"
#include "server/core/door.h"
#include "server/core/gate.h"
#include "server/core/router.h"
#include "store/tables/audit.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

namespace audit = store::audit;

constexpr std::string_view kSignIn = "/api/corral/v1/sign-in";
constexpr std::string_view kCodes = "/api/corral/v1/codes";
constexpr std::size_t kMostRequest = 1000;  // bytes
constexpr std::size_t kMostDetail = 1000;

// The ends of paths whose POST is audited for what it does. MLflow's have several beginnings.
constexpr std::array kPosts = {"/sign-in",
                               "/codes",
                               "/runs/changes",
                               "/runs/delete",
                               "/runs/restore",
                               "/experiments/delete",
                               "/experiments/restore"};

// Cut, and without what databases do not take as text.
std::string short_text(std::string_view bytes, std::size_t most) {
  std::string text = to_utf8(bytes.substr(0, most));
  std::erase(text, '\0');
  return text;
}

std::string request_line(const Request& request) {
  std::string line = std::string(method_name(request.method)) + " " + request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    line += separator + name + "=" + value;
    separator = '&';
  }
  return short_text(line, kMostRequest);
}

// The user behind a request; at a sign-in, that of the token in its body.
std::string user_of(const Request& request, const Context& context) {
  if (request.path != kSignIn) {
    const auto who = principal_of(request, *context.accounts);
    return who ? who->user : std::string();
  }
  const auto body = Json::parse(request.body);
  const auto who = body ? context.accounts->who(body->get_string("token"), sys::utc_now())
                        : std::optional<Principal>();
  return who ? who->user : std::string();
}

}  // namespace

bool is_audited(const Request& request) {
  if (request.method == Method::kGet || request.method == Method::kHead) return false;
  const auto ends_so = [&](std::string_view end) { return request.path.ends_with(end); };
  if (request.method == Method::kPost && std::ranges::any_of(kPosts, ends_so)) return true;
  if (request.method == Method::kDelete && request.path.starts_with("/api/corral/v1/tokens/"))
    return true;
  // Trainings log all the time: their paths are not looked up.
  if (door::owns(request.path) && door::is_quick(request)) return false;
  return role_for(request).value_or(Role::kAnyone) > Role::kWriter;
}

Response audited(Request request, Context& context) {
  const bool brings_secret = request.path == kSignIn || request.path == kCodes;
  const audit::Entry entry{
      .time = sys::utc_now(),
      .user = user_of(request, context),
      .address = request.peer,
      .request = request_line(request),
      .detail = brings_secret ? std::string() : short_text(request.body, kMostDetail)};
  const auto begin = [&](store::Writing& writing) { return audit::begin(writing, entry); };
  const Result<std::int64_t> id = commit(context.store, begin);
  if (!id) return refusal(request, id.error().with_context("the audit's entry"));
  const auto end = [&store = context.store, id = *id](const Response& response) {
    // Without its status the entry says that the outcome is unknown, which it then is.
    [[maybe_unused]] const auto ended = store.change(
        [&](store::Writing& writing) { return audit::end(writing, id, response.status); });
  };
  Response response = route(std::move(request), context);
  if (!response.late) {
    end(response);
    return response;
  }
  response.late = [end, make = std::move(response.late)](const auto& left) {
    Response made = make(left);
    end(made);
    return made;
  };
  return response;
}

}  // namespace corral::server
