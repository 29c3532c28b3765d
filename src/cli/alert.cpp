// corral alert: who is told what about runs, and where.
#include <fmt/core.h>

#include <array>
#include <utility>

#include "cli/command.h"
#include "cli/resources.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr std::string_view kAlerts = "/api/corral/v1/alerts";
constexpr std::size_t kMostFile = 4096;  // bytes

constexpr const char* kAddHelp =
    "Sends you messages about runs: to a chat, to ntfy, by mail, or to a program of yours. Each "
    "kind of news is sent once per run.";
constexpr const char* kAddExamples =
    "  corral alert add failed --to https://ntfy.sh/my-runs\n"
    "  corral alert add nan,stalled --to-file slack.url --experiment vision/net\n"
    "  corral alert add --metric loss --above 10 --to ada@lab.org\n";

// The value of an option, or else the content of a file.
Result<std::string> given(const std::string& text, const std::string& file) {
  if (file.empty()) return text;
  const std::string content = TRY(sys::read_file(file, kMostFile));
  return std::string(trim(content));
}

Json number_of(std::string_view name, const std::string& text, std::string& wrong) {
  if (text.empty()) return {};
  const auto number = parse_double(text);
  if (!number) wrong = fmt::format("--{}: expected a number, not '{}'", name, text);
  return number ? Json(*number) : Json();
}

struct AlertFlags {
  DestinationFlags destination;
  std::string to, to_file, form, experiment, metric, above, below, secret_file;
};

void declare_add(Arguments& arguments, AlertFlags& flags, std::string& kinds) {
  arguments.positional("kinds", kinds, "of ended, failed, nan, stalled and silent, with commas",
                       false);
  own_text(arguments, "to", flags.to, "https://... or a mail address");
  own_text(arguments, "to-file", flags.to_file, "file with that address, which stays out of sight");
  arguments.choice("form", flags.form, {"webhook", "slack", "ntfy", "mail"},
                   "what the address takes (default: as it looks)");
  arguments.as_flag_only("form");
  own_text(arguments, "experiment", flags.experiment, "only of its runs (default: of all)");
  own_text(arguments, "metric", flags.metric, "name of the metric of nan, --above and --below");
  own_text(arguments, "above", flags.above, "tell when the metric was above that");
  own_text(arguments, "below", flags.below, "tell when the metric was below that");
  own_text(arguments, "secret-file", flags.secret_file,
           "file with a secret that signs what a webhook gets");
  add_destination(arguments, flags.destination);
}

Result<int> add_alert(const AlertFlags& flags, Json::Object members) {
  members.emplace_back("target", TRY(given(flags.to, flags.to_file)));
  members.emplace_back("secret", TRY(given("", flags.secret_file)));
  const Json made = TRY(
      ask(flags.destination,
          {.method = "POST", .path = std::string(kAlerts), .body = body_of(std::move(members))}));
  fmt::print("added alert {0} ({1})\nnext: corral alert test {0}\n", made.get_string("id"),
             made.get_string("form"));
  return kDone;
}

int alert_add(std::span<char* const> args) {
  AlertFlags flags;
  std::string kinds, wrong;
  Arguments arguments("alert add", kAddHelp, kAddExamples);
  declare_add(arguments, flags, kinds);
  if (const auto status = arguments.parse(args)) return *status;
  Json::Array all;
  for (const std::string_view kind : split(kinds, ','))
    if (!trim(kind).empty()) all.emplace_back(std::string(trim(kind)));
  if (!flags.above.empty() || !flags.below.empty()) all.emplace_back("limit");
  const Json above = number_of("above", flags.above, wrong);
  const Json below = number_of("below", flags.below, wrong);
  if (all.empty()) wrong = "give one or more of ended, failed, nan, stalled and silent, or --above";
  if (flags.to.empty() == flags.to_file.empty()) wrong = "give either --to or --to-file";
  if (!wrong.empty()) {
    complain("alert add", wrong);
    return kMisuse;
  }
  return finish("alert add", add_alert(flags, {{"kinds", std::move(all)},
                                               {"experiment", flags.experiment},
                                               {"metric", flags.metric},
                                               {"above", above},
                                               {"below", below},
                                               {"form", flags.form}}));
}

int alert_ls(std::span<char* const> args) {
  DestinationFlags destination;
  std::string format = "table";
  Arguments arguments("alert ls", "Lists your alerts; for admins those of all users.",
                      "  corral alert ls\n");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Listing listing{.path = kAlerts,
                        .member = "alerts",
                        .fields = {{"id", "id"},
                                   {"user", "user"},
                                   {"kinds", "tells of", false, words_cell},
                                   {"experiment", "experiment"},
                                   {"metric", "metric"},
                                   {"above", "above", true},
                                   {"below", "below", true},
                                   {"target", "to"},
                                   {"delivered_ns", "delivered", false, time_cell},
                                   {"waiting", "waiting", true},
                                   {"left_out", "left out", true},
                                   {"problem", "problem"}},
                        .none = "no alerts yet; one is made by: corral alert add failed --to URL"};
  return finish("alert ls", print_list(destination, listing, format));
}

int alert_rm(std::span<char* const> args) {
  DestinationFlags destination;
  std::string id;
  Arguments arguments("alert rm", "Deletes an alert, with its messages that wait.",
                      "  corral alert rm 3\n");
  arguments.positional("id", id, "id of the alert, as `corral alert ls` shows it", true);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto remove = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "DELETE", .path = below(kAlerts, id), .body = {}}));
    fmt::print("deleted alert {}\n", id);
    return kDone;
  };
  return finish("alert rm", remove());
}

int alert_test(std::span<char* const> args) {
  DestinationFlags destination;
  std::string id;
  Arguments arguments("alert test", "Sends a message that says that it is a test.",
                      "  corral alert test 3\n");
  arguments.positional("id", id, "id of the alert, as `corral alert ls` shows it", true);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto test = [&]() -> Result<int> {
    const Json answer = TRY(
        ask(destination, {.method = "POST", .path = below(kAlerts, id) + "/test", .body = "{}"}));
    if (!answer.get_bool("delivered"))
      return fail(Code::kUnavailable, answer.get_string("problem"));
    fmt::print("delivered\n");
    return kDone;
  };
  return finish("alert test", test());
}

constexpr std::array kVerbs = {
    Verb{"add", "be told about runs", alert_add},
    Verb{"ls", "list alerts, and what became of their messages", alert_ls},
    Verb{"test", "send a message as a test", alert_test},
    Verb{"rm", "delete an alert", alert_rm},
};
constexpr std::string_view kHead =
    "Manages alerts: messages about runs that fail, stall or give NaN (docs/alerts.md).\n\n"
    "Usage: corral alert VERB [OPTIONS]\n\n";
constexpr std::string_view kFoot =
    "\nExamples:\n"
    "  corral alert add failed,nan --to https://ntfy.sh/my-runs\n"
    "  corral alert test 1\n"
    "\ncorral alert VERB --help shows the options.\n";

}  // namespace

int alert_command(std::span<char* const> args) {
  return call_verb({.name = "corral alert", .head = kHead, .foot = kFoot, .verbs = kVerbs}, args);
}

}  // namespace corral::cli
