#include "run/supervise/in_place.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "run/command.h"
#include "sys/inherited.h"
#include "sys/process.h"

namespace corral::run {
namespace {

void say(std::string_view before, std::string_view what, std::string_view after) noexcept {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  static constexpr std::size_t kPart = 600;
  const auto cut = [](std::string_view text) {
    return static_cast<int>(std::min<std::size_t>(text.size(), kPart));
  };
  std::array<char, 4 * kPart> line;
  const int n = std::snprintf(line.data(), line.size(), "corral run: %.*s%.*s%.*s", cut(before),
                              before.data(), cut(what), what.data(), cut(after), after.data());
  const auto end = line.begin() + std::max(n, 0);
  // Names of files may contain control characters of a terminal.
  const auto obeyed = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(line.begin(), end, obeyed, '?');
  *end = '\n';
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(end - line.begin() + 1));
}

std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words = options.command;
  if (words.empty() || !words[0].ends_with(".py")) return words;
  const char* chosen = std::getenv("CORRAL_PYTHON");
  words.insert(words.begin(), !options.python.empty()                ? options.python
                              : chosen != nullptr && *chosen != '\0' ? chosen
                                                                     : "python3");
  return words;
}

// Returns this process's environment, with the Python package last on its path: a script that
// imports the package still runs.
std::vector<std::string> environment_of(const Options& options) {
  std::vector<std::string> entries = sys::own_environment();
  if (options.python_path.empty()) return entries;
  constexpr std::string_view kName = "PYTHONPATH=";
  const auto set = std::ranges::find_if(
      entries, [&](const std::string& entry) { return entry.starts_with(kName); });
  if (set == entries.end())
    entries.push_back(std::string(kName) + options.python_path.string());
  else
    *set += (set->size() > kName.size() ? ":" : "") + options.python_path.string();
  return entries;
}

}  // namespace

void say_not_recorded(std::string_view reason) noexcept {
  say("not recorded: ", reason, "; running the command");
}

InPlace::InPlace(const Options& options)
    : possible_(!options.command.empty() && options.adopt.empty() && options.environment.empty() &&
                options.directory.empty() && options.gate.release < 0 && options.gate.reports < 0 &&
                options.placement.groups.empty() && options.placement.cpus.empty()),
      words_(words_of(options)),
      entries_(environment_of(options)) {
  for (std::string& word : words_) argv_.push_back(word.data());
  argv_.push_back(nullptr);
  for (std::string& entry : entries_) environment_.push_back(entry.data());
  environment_.push_back(nullptr);
}

int InPlace::execute(std::string_view reason) const noexcept {
  say_not_recorded(reason);
  sys::restore_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::execvpe(argv_[0], argv_.data(), environment_.data());
  const int error = errno;
  say(argv_[0], ": ", std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace corral::run
