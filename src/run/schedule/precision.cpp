#include "run/schedule/precision.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/text.h"

namespace corral::run::schedule {
namespace {

constexpr Nanos kServerStart{std::chrono::seconds(5)};
constexpr Nanos kLongestComparison{std::chrono::minutes(5)};

const Json::Array& list_of(const Json& object, const char* name) {
  static const Json::Array none;
  const Json* member = object.find(name);
  const Json::Array* list = member != nullptr ? member->as_array() : nullptr;
  return list != nullptr ? *list : none;
}

// A run whose end has not arrived there, as the server says it.
bool waits_for_data(const Json& group) {
  for (const Json& unit : list_of(group, "units"))
    for (const Json& run : list_of(unit, "runs"))
      if (run.get_string("status") == "running") return true;
  return false;
}

// None of its newest runs has a value, so that further ones will hardly have.
bool has_no_hope(const Json& group) {
  constexpr std::ptrdiff_t kInVain = 3;
  const Json::Array& units = list_of(group, "units");
  const auto lacks_value = [](const Json& unit) {
    const Json* value = unit.find("value");
    return value == nullptr || value->is_null();
  };
  return group.get_int("n") == 0 || (std::ssize(units) > kInVain &&
                                     std::all_of(units.end() - kInVain, units.end(), lacks_value));
}

std::string newest_reason(const Json& group) {
  const Json::Array& units = list_of(group, "units");
  return units.empty() ? "it has no runs" : units.back().get_string("reason");
}

// Half of the interval's width as a share; nullopt: there is none.
std::optional<double> half_width(const Json& difference) {
  const Json *low = difference.find("low"), *high = difference.find("high");
  if (low == nullptr || high == nullptr || low->is_null() || high->is_null()) return std::nullopt;
  return std::expm1(std::log(high->as_double(0) / low->as_double(0)) / 2);
}

std::string percent_of(double share) { return fmt::format("±{:.2g} %", share * 100); }

}  // namespace

Precision judge_precision(const Json& comparison, const PrecisionGoal& goal) {
  using State = Precision::State;
  for (const Json& group : list_of(comparison, "groups"))
    if (waits_for_data(group))
      return {.state = State::kWaits, .words = "the server does not know the end of all runs"};
  for (const Json& group : list_of(comparison, "groups"))
    if (has_no_hope(group))
      return {.state = State::kHopeless,
              .words = fmt::format("{} has no value{}: {}", printable(group.get_string("name")),
                                   group.get_int("n") == 0 ? "" : " in its newest blocks",
                                   printable(newest_reason(group)))};
  double widest = 0;
  std::string of;
  for (const Json& difference : list_of(comparison, "differences")) {
    const std::string names = fmt::format("{} against {}", printable(difference.get_string("b")),
                                          printable(difference.get_string("a")));
    const auto half = half_width(difference);
    if (!half) return {.state = State::kWide, .words = names + " has too few values"};
    if (*half < widest) continue;
    widest = *half;
    of = names;
  }
  return {.state = widest <= goal.half_width ? State::kNarrow : State::kWide,
          .words = fmt::format("the widest interval is {} ({})", percent_of(widest), of)};
}

Precision PrecisionQuestion::ask(const std::vector<RepeatedWorkload>& workloads) {
  Json::Array groups;
  for (const RepeatedWorkload& workload : workloads) {
    Json::Array runs;
    for (const std::string& run : workload.runs) runs.emplace_back(run);
    groups.emplace_back(Json::Object{{"name", workload.label}, {"runs", Json(std::move(runs))}});
  }
  Json question{Json::Object{{"groups", Json(std::move(groups))}, {"value", goal_.value}}};
  const std::string body = question.dump();
  const auto server = link_.connect(kServerStart);
  if (!server) return {.words = server.error().message};
  if ((*server)->http() == nullptr) return {.words = "the server does not answer questions"};
  const auto reply = (*server)->http()->send({.method = "POST",
                                              .path = "/api/corral/v1/compare",
                                              .body = body,
                                              .timeout = kLongestComparison});
  if (!reply) {
    link_.drop();
    return {.words = reply.error().message};
  }
  const auto answer = Json::parse(reply->body);
  if (!answer) return {.words = "the server's answer is no JSON"};
  if (reply->status == 200) return judge_precision(*answer, goal_);
  const Json* error = answer->find("error");
  const std::string message = error != nullptr ? error->get_string("message") : "";
  // A run may not have arrived yet (404); what else it refuses stays refused.
  return {.state = reply->status == 404 || reply->status >= 500 ? Precision::State::kWaits
                                                                : Precision::State::kHopeless,
          .words = fmt::format("the server answers {}: {}", reply->status, printable(message))};
}

}  // namespace corral::run::schedule
