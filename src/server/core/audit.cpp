#include "server/core/audit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "server/core/accounts.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "store/tables/audit.h"
#include "sys/clock.h"
#include "sys/http_client.h"

namespace corral::server {
namespace {

namespace audit = store::audit;

constexpr std::string_view kSignIn = "/api/corral/v1/sign-in";
constexpr std::string_view kCodes = "/api/corral/v1/codes";
constexpr std::string_view kDeviceCodes = "/api/corral/v1/device-codes/";
constexpr std::string_view kTokens = "/api/corral/v1/tokens";
constexpr std::string_view kStop = "/api/corral/v1/stop";
constexpr std::size_t kMostRequest = 2000;  // bytes
constexpr std::size_t kMostDetail = 64u << 10;
constexpr std::size_t kMostAnswer = 200;

// The ends of paths whose POST is audited for what it does. MLflow's have several beginnings.
constexpr std::array kPosts = {"/sign-in",
                               "/codes",
                               "/runs/changes",
                               "/runs/delete",
                               "/runs/restore",
                               "/experiments/delete",
                               "/experiments/update",
                               "/experiments/restore"};

// Without what databases do not take as text; says how much was cut off.
std::string short_text(std::string_view bytes, std::size_t most) {
  std::string text = to_utf8(bytes.substr(0, most));
  std::erase(text, '\0');
  if (bytes.size() > most) text += fmt::format(" ... ({} bytes)", bytes.size());
  return text;
}

// Any reader may send it.
bool is_of_readers(const Request& request) {
  return request.path != kSignIn && role_for(request) == Role::kReader;
}

bool is_for_tokens(const Request& request) {
  return request.path == kSignIn || request.path == kCodes;
}

// Clients used to a server's one token may send theirs in the query.
std::string request_line(const Request& request) {
  std::string line = std::string(method_name(request.method)) + " " + request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    if (is_for_tokens(request) || name == "token" || name == "once") continue;
    line += separator + sys::url_encode(name) + "=" + sys::url_encode(value);
    separator = '&';
  }
  return short_text(line, kMostRequest);
}

// As it was understood: without blanks that would hide its meaning.
std::string detail_of(const Request& request) {
  if (is_for_tokens(request)) return {};
  const auto json = Json::parse(request.body);
  const std::size_t most = is_of_readers(request) ? kMostAnswer : kMostDetail;
  return short_text(json ? json->dump() : request.body, most);
}

// The user behind a request; at a sign-in, that of the token in its body.
std::optional<Principal> principal(const Request& request, const Context& context) {
  if (request.path != kSignIn) return context.who;
  const auto body = Json::parse(request.body);
  if (!body) return std::nullopt;
  return context.accounts->who(body->get_string("token"), sys::utc_now());
}

// Gives its entry the status 500 if the handler does not return.
class OpenEntry {
 public:
  OpenEntry(store::Store& store, std::int64_t id) : store_(store), id_(id) {}
  OpenEntry(const OpenEntry&) = delete;
  OpenEntry& operator=(const OpenEntry&) = delete;
  ~OpenEntry() {
    // Without its status the entry says that the outcome is unknown, which it then is.
    [[maybe_unused]] const auto ended =
        store_.change([&](store::Writing& writing) { return audit::end(writing, id_, status_); });
  }
  void answered(int status) { status_ = status; }

 private:
  store::Store& store_;
  const std::int64_t id_;
  int status_ = 500;
};

}  // namespace

bool is_audited(const Request& request) {
  if (request.method == Method::kGet || request.method == Method::kHead) return false;
  // A server whose store is lost can still be stopped.
  if (request.path == kStop) return false;
  // Its handler makes the entry, with the new token's id.
  if (request.path == kTokens) return false;
  // Trainings log all the time: their paths are not looked up.
  if (door::owns(request.path) && door::is_quick(request)) return false;
  const std::optional<Role> needed = role_for(request);
  if (!needed || *needed > Role::kWriter) return needed.has_value();
  const auto ends_so = [&](std::string_view end) { return request.path.ends_with(end); };
  if (request.method == Method::kPost) return std::ranges::any_of(kPosts, ends_so);
  if (request.method == Method::kPut) return request.path.starts_with(kDeviceCodes);
  return request.method == Method::kDelete && request.path.starts_with("/api/corral/v1/tokens/");
}

Response audited(Request request, Context& context) {
  const std::optional<Principal> who = principal(request, context);
  if (const auto wait = is_of_readers(request)
                            ? context.reader_entries->take(context.who.user, sys::boot_now())
                            : std::nullopt)
    return too_many(request, "requests that are listed", *wait);
  const bool listed = who || !context.listed_refusals->take("", sys::boot_now());
  if (!listed) return route(std::move(request), context);
  const audit::Entry entry{.time = sys::utc_now(),
                           .user = who ? who->user : std::string(),
                           .address = request.peer,
                           .request = request_line(request),
                           .detail = detail_of(request)};
  const auto begin = [&](store::Writing& writing) { return audit::begin(writing, entry); };
  const Result<std::int64_t> id = commit(context.store, begin);
  if (!id) return refusal(request, id.error().with_context("the audit's entry"));
  const auto open = std::make_shared<OpenEntry>(context.store, *id);
  Response response = route(std::move(request), context);
  if (!response.late) {
    open->answered(response.status);
    return response;
  }
  response.late = [open, make = std::move(response.late)](const auto& left) {
    Response made = make(left);
    open->answered(made.status);
    return made;
  };
  return response;
}

}  // namespace corral::server
