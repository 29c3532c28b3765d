#include "cli/answers.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>

#include "cli/command.h"
#include "core/text.h"
#include "core/time.h"

namespace corral::cli {

const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  const Json* found = object.find(name);
  return found != nullptr ? *found : nothing;
}

const Json::Array& items(const Json& object, const char* name) {
  static const Json::Array none;
  const auto* array = member(object, name).as_array();
  return array != nullptr ? *array : none;
}

Cell plain_member(const Json& object, const char* name) { return plain(member(object, name)); }

Cell short_id(const Json& object, const char* name) {
  return {member(object, name), object.get_string(name).substr(0, 8)};
}

std::string value_in_unit(const Json& value, const std::string& unit) {
  if (value.is_null()) return "–";
  if (unit.starts_with("s/") || unit == "s") return precise_duration_text(value);
  return with_unit(value.as_double(0), unit);
}

Cell time_cell(const Json& object, const char* name) {
  return {member(object, name), time_text(member(object, name))};
}

Cell precise_time_cell(const Json& object, const char* name) {
  return {member(object, name), precise_time_text(member(object, name))};
}

Cell duration_cell(const Json& object, const char* name) {
  return {member(object, name), duration_text(member(object, name))};
}

Table list_of(const Json::Array& objects, const std::vector<Field>& fields) {
  std::vector<TableColumn> columns;
  columns.reserve(fields.size());
  for (const Field& field : fields) columns.push_back({field.name, field.title, field.right});
  Table table(std::move(columns));
  for (const Json& object : objects) {
    std::vector<Cell> row;
    row.reserve(fields.size());
    for (const Field& field : fields) row.push_back(field.cell(object, field.name.c_str()));
    table.add(std::move(row));
  }
  return table;
}

std::string plain_words(const Json::Array& words) {
  std::string text;
  for (const Json& word : words) text += (text.empty() ? "" : " ") + plain(word).text;
  return text;
}

std::string time_text(const Json& ns) {
  const auto value = ns.as_string() != nullptr ? parse_int(*ns.as_string()) : std::nullopt;
  if (!value) return "–";
  const std::time_t clock = *value / 1'000'000'000;
  std::tm parts{};
  ::localtime_r(&clock, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string duration_text(const Json& seconds) {
  if (seconds.is_null()) return "–";
  return human_duration(nanos_of_seconds(seconds.as_double(0)));
}

std::string precise_time_text(const Json& ns) {
  const auto value = ns.as_string() != nullptr ? parse_int(*ns.as_string()) : std::nullopt;
  if (!value) return "–";
  return fmt::format("{}.{:03}", time_text(ns), *value / 1'000'000 % 1000);
}

std::string precise_duration_text(const Json& seconds) {
  if (seconds.is_null()) return "–";
  return precise_duration(seconds.as_double(0));
}

std::string ending_text(const Json& run) {
  const std::string outcome = printable(run.get_string("outcome"));
  std::string status = printable(run.get_string("status"));
  // "failed: out-of-memory", where the word adds something.
  if (!outcome.empty() && outcome != status && status != "running") status += ": " + outcome;
  if (const auto* code = member(run, "exit_code").as_int())
    return fmt::format("{}, exit status {}", status, *code);
  if (const auto* signal = member(run, "exit_signal").as_int())
    return fmt::format("{}, by signal {}", status, *signal);
  if (status == "unknown") return "unknown: it ended, but nobody was there to see how";
  return status;
}

Cell state_cell(const Json& object, const char* name) {
  constexpr std::array<std::string_view, 5> kFailures = {"failed", "killed", "out-of-memory",
                                                         "neighbour", "not-started"};
  Cell cell = plain_member(object, name);
  if (cell.text == "running") cell.tone = Tone::kGood;
  if (std::ranges::find(kFailures, cell.text) != kFailures.end()) cell.tone = Tone::kBad;
  return cell;
}

std::string outcome_text(const Json& run) {
  std::string status = run.get_string("status");
  std::string outcome = run.get_string("outcome");
  return printable(outcome.empty() || status == "running" ? status : outcome);
}

std::string brief(const std::string& text, std::size_t widest) {
  std::string line = text.substr(0, text.find('\n'));
  const bool whole = line.size() == text.size() && line.size() <= widest;
  line.resize(utf8_prefix(std::string_view(line).substr(0, widest)));
  return printable(whole ? line : line + "…");
}

std::string noise_text(const Json& run) {
  // Shares of the CPUs, the same as --quiet-check applies to other processes.
  constexpr double kBusyShare = 0.05;
  constexpr double kBusyCpus = 0.5;
  const Json& info = member(run, "info");
  std::string words;
  const auto add = [&](const std::string& text) { words += (words.empty() ? "" : ", ") + text; };
  const double load = member(info, "at_start.load").as_double(0);
  const double cpus = member(info, "cpus").as_double(1);
  if (load > std::max(kBusyCpus, kBusyShare * cpus))
    add(fmt::format("load {:.3g} at the start on {:g} CPU{}", load, cpus, cpus == 1 ? "" : "s"));
  const std::string governor = info.get_string("set_up.governor");
  if (!governor.empty() && governor != "performance") add("governor " + governor);
  const double late = member(member(run, "drops"), "ticks").as_double(0);
  if (late > 0) add(fmt::format("{:g} samples late or lost", late));
  return words;
}

Cell statistic(const Json& metric, const char* name) {
  const Json& value = member(metric, name);
  if (value.is_null()) return {.value = value, .text = "–"};
  if (value.as_string() != nullptr)
    return {.value = value, .text = *value.as_string()};  // "NaN", "Infinity"
  return {.value = value, .text = with_unit(value.as_double(0), metric.get_string("unit"))};
}

bool at_terminal() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

namespace {
volatile sig_atomic_t signalled = 0;
void note_signal(int signal) { signalled = signal; }
}  // namespace

Result<std::string> ask_secret(const std::string& question) {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return fail_errno("terminal", errno);
  // A signal must not end the process while the terminal shows nothing. It comes while this waits.
  sigset_t ends{}, usual{};
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, &usual);
  struct sigaction noted {};
  noted.sa_handler = note_signal;
  std::array<struct sigaction, 2> former{};
  signalled = 0;
  ::sigaction(SIGINT, &noted, &former[0]);
  ::sigaction(SIGTERM, &noted, &former[1]);
  termios quiet = before;
  quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  fmt::print(stderr, "{}: ", printable(question));
  std::string line;
  char c = 0;
  ssize_t n = 0;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (signalled == 0) {
    if (::ppoll(&input, 1, nullptr, &usual) != 1) continue;
    n = ::read(STDIN_FILENO, &c, 1);
    if (n != 1 || c == '\n') break;
    line += c;
  }
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  fmt::print(stderr, "\n");
  ::sigaction(SIGINT, &former[0], nullptr);
  ::sigaction(SIGTERM, &former[1], nullptr);
  if (signalled != 0) ::raise(signalled);
  ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
  if (n != 1 || signalled != 0) return fail(Code::kUnavailable, "interrupted");
  return line;
}

bool read_yes() {
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

void complain(std::string_view verb, std::string_view message) {
  fmt::print(stderr, "corral {}: {}\n", verb, printable_lines(message));
}

int report(std::string_view verb, const Error& error) {
  complain(verb, error.message);
  return error.code == Code::kInvalidArgument ? kMisuse : kFailed;
}

int finish(std::string_view verb, const Result<int>& done) {
  return done ? *done : report(verb, done.error());
}

}  // namespace corral::cli
