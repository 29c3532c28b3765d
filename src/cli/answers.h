// The API's answers as a person reads them: times, durations, endings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/table.h"
#include "core/json.h"
#include "core/result.h"

namespace corral::cli {

// Member of an object; null when absent.
const Json& member(const Json& object, const char* name);
// Elements of such a member; none when it is absent or no array.
const Json::Array& items(const Json& object, const char* name);
// The cell of such a member as it is, and of an id, of which people see the beginning.
Cell plain_member(const Json& object, const char* name);
Cell short_id(const Json& object, const char* name);
// The texts of these values, separated by blanks.
std::string plain_words(const Json::Array& words);
// Local time of a `…_ns` member; "–" for null.
std::string time_text(const Json& ns);
// The same with milliseconds.
std::string precise_time_text(const Json& ns);
// Duration of a number of seconds; "–" for null.
std::string duration_text(const Json& seconds);
// The same with three significant digits, as the page has it: "63 ms", "1.2 s", "2:05".
std::string precise_duration_text(const Json& seconds);
// A compared value: a duration, or a number with its unit; "–" for null.
std::string value_in_unit(const Json& value, const std::string& unit);
// The cells of such members.
Cell time_cell(const Json& object, const char* name);
Cell precise_time_cell(const Json& object, const char* name);
Cell duration_cell(const Json& object, const char* name);
std::string ending_text(const Json& run);
// The state or outcome of a run or plan: coloured if it runs or failed.
Cell state_cell(const Json& object, const char* name);
// The run's outcome, or its status if it still runs or has no outcome.
std::string outcome_text(const Json& run);
// Recorded conditions that may have disturbed a run's measurements: "load 20.1 at the start on 2
// CPUs, governor powersave". Empty: none is known.
std::string noise_text(const Json& run);
// A statistic of a metric with its unit; a dash when nothing was measured.
Cell statistic(const Json& metric, const char* name);

// A column of a list of objects, with the cell that it makes of one.
struct Field {
  std::string name;   // as of TableColumn
  std::string title;  // likewise
  bool right = false;
  Cell (*cell)(const Json& object, const char* name) = plain_member;
};
Table list_of(const Json::Array& objects, const std::vector<Field>& fields);

// One line for people, cut after `widest` bytes: of a patch its first line.
std::string brief(const std::string& text, std::size_t widest = 48);

// Somebody can be asked: standard input and standard error are terminals.
bool at_terminal();
// Asks for a line at the terminal, which does not show it. Ctrl-C has its usual effect once the
// terminal is as before; where the process goes on, and at the end of input: kUnavailable.
Result<std::string> ask_secret(const std::string& question);
// Reads a line of standard input; true for "y", "Y" and "yes".
bool read_yes();

// Prints "corral VERB: message" on standard error, whatever the message repeats.
void complain(std::string_view verb, std::string_view message);
// The same for an error, and gives the exit status.
int report(std::string_view verb, const Error& error);
// The exit status of a command's work, or that of its error, which is reported.
int finish(std::string_view verb, const Result<int>& done);

}  // namespace corral::cli
