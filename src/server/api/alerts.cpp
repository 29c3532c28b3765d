// Alerts: what users want to be told about runs (server/core/alerts.h).
#include "server/core/alerts.h"

#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/accounts.h"
#include "server/core/gate.h"
#include "server/core/router.h"
#include "store/tables/audit.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace alerts = store::alerts;
using alerts::Form;
using alerts::Kind;

constexpr std::size_t kMostTarget = 2000;  // bytes
constexpr std::size_t kMostSecret = 200;
constexpr std::size_t kMostExperiment = 1000;

// The path of an HTTP address is often a secret.
std::string shown_target(const alerts::Alert& alert) {
  const std::size_t scheme = alert.target.find("://");
  if (alert.form == Form::kMail || scheme == std::string::npos) return alert.target;
  const std::size_t end = alert.target.find_first_of("/?#", scheme + 3);
  return alert.target.substr(0, end) + (end == std::string::npos ? "" : "/...");
}

void write_alert(JsonWriter& json, const alerts::Alert& alert) {
  json.begin_object();
  write_integer(json, "id", alert.id);
  write_text(json, "user", alert.user);
  write_array(json, "kinds", alert.kinds, [](JsonWriter& out, Kind kind) {
    out.value(alerts::kKindNames.at(static_cast<std::size_t>(kind)));
  });
  write_text(json, "experiment", alert.experiment);
  write_text(json, "metric", alert.metric);
  write_optional(json, "above", alert.above);
  write_optional(json, "below", alert.below);
  json.member("form", alerts::kFormNames.at(static_cast<std::size_t>(alert.form)));
  json.member("target", shown_target(alert)).member("signed", !alert.secret.empty());
  write_time(json, "created_ns", alert.created);
  write_time(json, "delivered_ns", alert.delivered);
  json.member("waiting", alert.waiting).member("left_out", alert.left_out);
  write_text(json, "problem", alert.problem);
  json.end_object();
}

// The form that most addresses like this take.
Form form_of(std::string_view target) {
  if (target.find("://") == std::string_view::npos && target.find('@') != std::string_view::npos)
    return Form::kMail;
  if (target.starts_with("https://hooks.slack.com/")) return Form::kSlack;
  return target.starts_with("https://ntfy.") ? Form::kNtfy : Form::kWebhook;
}

std::optional<Kind> parse_kind(const std::string& text) {
  for (std::size_t i = 0; i < alerts::kKindNames.size(); ++i)
    if (alerts::kKindNames.at(i) == text) return static_cast<Kind>(i);
  return std::nullopt;
}

std::string bounded_text(RequestFields& fields, std::string_view name, std::size_t most) {
  std::string text = fields.text(name, most);
  if (text.find('\0') != std::string::npos) fields.wrong(name, "a text without NUL");
  return text;
}

std::optional<double> read_limit(RequestFields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  constexpr double kMost = std::numeric_limits<double>::max();
  return fields.number(name, 0, {.low = -kMost, .high = kMost});
}

Parsed<alerts::Alert> read_alert(const Request& request, const Json& json) {
  RequestFields fields(request.body, json);
  fields.only({"kinds", "experiment", "metric", "above", "below", "form", "target", "secret"});
  alerts::Alert alert{.experiment = bounded_text(fields, "experiment", kMostExperiment),
                      .metric = fields.metric_name("metric").value_or(""),
                      .above = read_limit(fields, "above"),
                      .below = read_limit(fields, "below"),
                      .target = bounded_text(fields, "target", kMostTarget),
                      .secret = bounded_text(fields, "secret", kMostSecret),
                      .created = sys::utc_now()};
  const auto kinds =
      fields.parse_all<Kind>("kinds", fields.texts("kinds", alerts::kKindNames.size(), 20),
                             "ended, failed, nan, stalled, limit or silent", parse_kind);
  alert.kinds = {kinds.begin(), kinds.end()};
  const bool limits = alert.kinds.contains(Kind::kLimit);
  if (limits != (alert.above || alert.below) || (limits && alert.metric.empty())) {
    fields.wrong({{Code::kInvalidArgument,
                   "a limit needs the name of a metric, and a value that it is above or below"},
                  "kinds"});
  }
  const auto form = fields.choice<Form>("form", {{alerts::kFormNames[0], Form::kWebhook},
                                                 {alerts::kFormNames[1], Form::kSlack},
                                                 {alerts::kFormNames[2], Form::kNtfy},
                                                 {alerts::kFormNames[3], Form::kMail}});
  alert.form = form.value_or(form_of(alert.target));
  if (!alert.secret.empty() && alert.form != Form::kWebhook) {
    fields.wrong({{Code::kInvalidArgument,
                   "a secret signs the documents of a webhook, and no other messages"},
                  "secret"});
  }
  return fields.finish(std::move(alert));
}

// Admins remove and test those of others.
std::optional<std::string> whose(const Context& context) {
  if (context.who.role >= Role::kAdmin) return std::nullopt;
  return context.who.user;
}

Parsed<std::int64_t> requested_alert(const Request& request) {
  if (const auto id = parse_int(request.param("alert"))) return *id;
  return fail_about("alert", Code::kInvalidArgument,
                    fmt::format("'{}' is no id of an alert", request.param("alert")));
}

tl::unexpected<Error> no_alert(std::int64_t id) {
  return fail(Code::kNotFound, fmt::format("you have no alert {}", id));
}

Result<std::vector<alerts::Alert>> read_alerts(const Context& context) {
  auto all = TRY(
      in_snapshot(context.reader, [](store::Reading& reading) { return alerts::list(reading); }));
  if (const auto user = whose(context))
    std::erase_if(all, [&](const alerts::Alert& alert) { return alert.user != *user; });
  return all;
}

Result<> note_alert(store::Writing& writing, const alerts::Alert& alert, const Request& request) {
  std::string detail;
  JsonWriter json(detail);
  write_alert(json, alert);
  const std::int64_t entry = TRY(store::audit::begin(writing, {.time = alert.created,
                                                               .user = alert.user,
                                                               .address = request.peer,
                                                               .request = "POST " + request.path,
                                                               .detail = detail}));
  return store::audit::end(writing, entry, 200);
}

}  // namespace

Answer list_alerts(const Request&, Context& context) {
  return array_response("alerts", TRY(read_alerts(context)), write_alert);
}

Answer add_alert(const Request& request, Context& context) {
  const Json json = TRY_PARSED(parse_body(request.body));
  alerts::Alert alert = TRY_PARSED(read_alert(request, json));
  TRY_PARSED(about(
      "target", context.alerts->check_target(alert.form, alert.target).map([] { return true; })));
  alert.user = context.who.user;
  const bool listed = context.accounts->required();
  const auto add = [&](store::Writing& writing) -> Result<> {
    alert.id = TRY(alerts::add(writing, alert));
    return listed ? note_alert(writing, alert, request) : Result<>();
  };
  TRY(context.store.change(add));
  return object_response([&](JsonWriter& out) {
    write_integer(out, "id", alert.id);
    out.member("form", alerts::kFormNames.at(static_cast<std::size_t>(alert.form)));
  });
}

Answer delete_alert(const Request& request, Context& context) {
  const std::int64_t id = TRY_PARSED(requested_alert(request));
  const bool known = TRY(commit(context.store, [&](store::Writing& writing) {
    return alerts::remove(writing, id, whose(context));
  }));
  if (!known) return no_alert(id);
  return object_response([&](JsonWriter& json) { write_integer(json, "id", id); });
}

Answer test_alert(const Request& request, Context& context) {
  const std::int64_t id = TRY_PARSED(requested_alert(request));
  for (const alerts::Alert& alert : TRY(read_alerts(context))) {
    if (alert.id != id) continue;
    auto turn = context.alerts->take_test_turn();
    if (!turn) return fail(Code::kUnavailable, "another test is being sent: try again soon");
    if (const auto wait = context.test_messages->take(context.who.user, sys::boot_now()))
      return too_many(request, "test messages", *wait);
    Response response;
    response.late_kind = Response::Late::kElsewhere;
    response.late = [alert, turn = std::move(turn), &context](const auto&) {
      const Result<> sent = context.alerts->send_test(alert, sys::utc_now());
      return object_response([&](JsonWriter& json) {
        json.member("delivered", sent.has_value());
        write_text(json, "problem", sent ? "" : sent.error().message);
      });
    };
    return response;
  }
  return no_alert(id);
}

}  // namespace corral::server::api
