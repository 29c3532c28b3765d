#include <fmt/core.h>

#include <limits>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/destination.h"
#include "cli/group_flags.h"
#include "cli/text_page.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kCompareExamples =
    "  corral compare mps slices                   all runs of these two names\n"
    "  corral compare mps slices --margin 5%       equivalent within 5 %\n"
    "  corral compare \"params.batch = '32'\" \"params.batch = '64'\"\n"
    "  corral compare \"params.lr = '0.1'\" --by params.batch   a group for each batch size\n"
    "  corral compare a b --metric run.cpu.used    another value than time per step\n"
    "  corral compare a b --target 'val_acc >= 0.9'   which reaches it sooner\n"
    "  corral compare main change --fail-if 'slower > 3%'\n";

struct CompareFlags {
  DestinationFlags destination;
  GroupFlags of;
  std::string target, fail_if, format = "table";
};

// ---- --fail-if: "slower > 3%", "faster", "greater > 1%", "less", "different", "inconclusive",
// "not equivalent"
struct FailIf {
  std::string word;
  double size = 0;
};

Result<FailIf> parse_fail_if(const std::string& text) {
  const std::size_t sign = text.find('>');
  FailIf condition{.word = std::string(trim(std::string_view(text).substr(0, sign)))};
  const bool sized = condition.word == "slower" || condition.word == "faster" ||
                     condition.word == "greater" || condition.word == "less" ||
                     condition.word == "different";
  const bool plain = condition.word == "inconclusive" || condition.word == "not equivalent";
  const auto size =
      sign == std::string::npos ? std::optional(0.0) : parse_share(trim(text.substr(sign + 1)));
  if (!(sized || (plain && sign == std::string::npos)) || !size || !(*size >= 0))
    return fail(Code::kInvalidArgument,
                fmt::format("--fail-if '{}': expected slower, faster, greater, less or different, "
                            "each with or without a size such as '> 3%', or inconclusive or 'not "
                            "equivalent'",
                            printable(text)));
  condition.size = *size;
  return condition;
}

bool is_of_time(const FailIf& condition) {
  return condition.word == "slower" || condition.word == "faster";
}

// nullopt: these values cannot tell. Otherwise true if the condition is shown; a size is
// shown if the whole interval lies beyond it.
std::optional<bool> holds(const FailIf& condition, const Json& difference) {
  const std::string verdict = difference.get_string("verdict");
  if (verdict == "too few" || verdict == "unequal budgets") return std::nullopt;
  const bool within = verdict == "different within the margin";
  if (condition.word == "not equivalent") return verdict != "equivalent" && !within;
  if (condition.word == "inconclusive") return verdict == "inconclusive";
  const double low = member(difference, "low").as_double(0);
  const double high = member(difference, "high").as_double(std::numeric_limits<double>::infinity());
  const double ratio = member(difference, "ratio").as_double(1);
  const bool greater = verdict == "greater" || (within && ratio > 1);
  const bool less = verdict == "less" || (within && ratio < 1);
  const double bound = 1 + condition.size;
  if (greater && condition.word != "faster" && condition.word != "less")
    return condition.size == 0 || low > bound;
  if (less && condition.word != "slower" && condition.word != "greater")
    return condition.size == 0 || high < 1 / bound;
  return false;
}

// ---- the request

Result<Json> question_of(const CompareFlags& flags) {
  if (flags.of.groups.size() < 2 && flags.of.by.empty())
    return fail(Code::kInvalidArgument,
                "expected two groups or more, or one and --by; each is the name of runs, a "
                "workload, a run or a filter");
  return group_question(flags.of);
}

// The exit status.
int check_condition(const FailIf& condition, const std::string& text, const Json& found) {
  int status = kDone;
  for (const Json& one : items(found, "differences")) {
    const auto held = holds(condition, one);
    if (held && !*held) continue;
    const std::string verdict = one.get_string("verdict");
    fmt::print(
        stderr, "corral compare: --fail-if '{}' {} for {} against {}\n", printable(text),
        held ? "holds" : "cannot be judged: " + (verdict == "too few" ? "too few values" : verdict),
        printable(one.get_string("b")), printable(one.get_string("a")));
    status = kFailed;
  }
  return status;
}

Result<int> compare(const CompareFlags& flags) {
  std::optional<FailIf> condition;
  if (!flags.fail_if.empty()) condition = TRY(parse_fail_if(flags.fail_if));
  if (!flags.target.empty() && !(flags.of.metric.empty() && flags.of.of.empty()))
    return fail(Code::kInvalidArgument, "--target is a value itself: without --metric and --of");
  if (!flags.target.empty() && condition &&
      (condition->size > 0 || condition->word == "not equivalent"))
    return fail(
        Code::kInvalidArgument,
        fmt::format("--fail-if '{}': times to a target have no interval; use slower, faster "
                    "or inconclusive, without a size",
                    printable(flags.fail_if)));
  if (condition && is_of_time(*condition) && !is_of_time(flags.of))
    return fail(
        Code::kInvalidArgument,
        fmt::format("--fail-if '{}': a metric is not faster or slower; use greater, less or "
                    "different",
                    printable(flags.fail_if)));
  Json question = TRY(question_of(flags));
  if (!flags.target.empty()) question.set("target", flags.target);
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const Json found = TRY(ask_about_groups(server, "compare", question));
  if (flags.format == "json")
    fmt::print("{}\n", found.dump());
  else if (flags.format == "csv")
    fmt::print("{}", comparison_csv(found));
  else
    print_comparison(TextPage(flags.format), found);
  if (condition) return check_condition(*condition, flags.fail_if, found);
  if (!compares_nothing(found)) return kDone;
  complain("compare", "nothing could be compared: no run of a side counts");
  return kFailed;
}

}  // namespace

int compare_command(std::span<char* const> args) {
  CompareFlags flags;
  Arguments arguments("compare",
                      "Compares groups of runs with the first one: how many times as much time a "
                      "step takes, how sure that is, whether it matters, and where it comes from.",
                      kCompareExamples);
  add_group_flags(arguments, flags.of);
  arguments.text("target", flags.target,
                 "compare the times to it, e.g. 'val_acc >= 0.9' (instead of --metric)");
  arguments.as_flag_only("target");
  arguments.text("fail-if", flags.fail_if, "exit with 1 if this is shown, e.g. 'slower > 3%'");
  arguments.as_flag_only("fail-if");
  arguments.choice("format", flags.format, {"table", "json", "csv", "markdown", "latex"},
                   "output format (default: table)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("compare", compare(flags));
}

}  // namespace corral::cli
