// corral logs: the output of a run, as far as it is stored.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kLogsExamples =
    "  corral logs @1                  all output of the newest run\n"
    "  corral logs @1 --tail 20        its last 20 lines\n"
    "  corral logs @1 --stream stderr  what it wrote to standard error\n";

constexpr std::int64_t kMostTail = 1'000'000;      // lines
constexpr std::size_t kMostTailBytes = 64U << 20;  // kept in memory
constexpr std::size_t kChunksAtOnce = 256;

struct LogsFlags {
  DestinationFlags destination;
  std::string run;
  std::string stream;
  std::string tail;
  std::string member;
};

struct Chunk {
  bool is_error = false;  // it came from standard error
  std::string text;
};

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Writes chunks to the stream that they came from, as they are. On a terminal, control characters
// are escaped, and a carriage return, which progress bars use, begins a line.
class LogWriter {
 public:
  Result<> write(const Chunk& chunk) {
    std::FILE* const file = chunk.is_error ? stderr : stdout;
    const bool to_terminal = ::isatty(::fileno(file)) == 1;
    const std::string text = to_terminal ? for_terminal(chunk) : chunk.text;
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
      return fail_errno("writing the output", errno);
    return {};
  }

 private:
  std::string for_terminal(const Chunk& chunk) {
    bool& returned = returned_[chunk.is_error ? 1 : 0];
    std::string lines;
    for (const char c : chunk.text) {
      if (c == '\n' && returned) {
        returned = false;
        continue;
      }
      returned = c == '\r';
      lines += returned ? '\n' : c;
    }
    return printable_lines(lines);
  }

  std::array<bool, 2> returned_{};  // the stream's last character was a carriage return
};

class Logs {
 public:
  Logs(const sys::HttpTarget& server, const LogsFlags& flags) : server_(server), flags_(flags) {}

  // Prints all of it, in the order of storage.
  Result<> print_all() {
    std::string cursor;
    while (true) {
      const Json page = TRY(read("from", cursor));
      const std::vector<Chunk> chunks = chunks_of(page);
      if (chunks.empty()) return {};
      for (const Chunk& chunk : chunks) TRY(writer_.write(chunk));
      cursor = page.get_string("next");
    }
  }

  Result<> print_tail(std::size_t lines) {
    std::vector<Chunk> newest_first;
    // One line end more than lines: what stands before it is not printed.
    std::size_t ends = 0, bytes = 0;
    Json page = TRY(read("tail", std::to_string(kChunksAtOnce)));
    while (true) {
      std::vector<Chunk> chunks = chunks_of(page);
      for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
        ends += count_lines(chunk->text);
        bytes += chunk->text.size();
        newest_first.push_back(std::move(*chunk));
      }
      const std::string before = page.get_string("prev");
      if (before.empty() || ends > lines) break;
      if (bytes > kMostTailBytes)
        return fail(Code::kTooLarge,
                    fmt::format("the last {} lines are more than {}: give a smaller --tail", lines,
                                human_bytes(static_cast<double>(kMostTailBytes))));
      page = TRY(read("before", before));
    }
    const bool unfinished = !newest_first.empty() && !newest_first.front().text.ends_with('\n');
    drop_first_lines(newest_first, ends + (unfinished ? 1 : 0), lines);
    for (auto chunk = newest_first.rbegin(); chunk != newest_first.rend(); ++chunk)
      TRY(writer_.write(*chunk));
    return {};
  }

 private:
  static std::vector<Chunk> chunks_of(const Json& page) {
    std::vector<Chunk> chunks;
    for (const Json& one : items(page, "chunks"))
      chunks.push_back(
          {.is_error = one.get_string("stream") == "stderr", .text = one.get_string("text")});
    return chunks;
  }

  // Leaves the last `wanted` of `lines`.
  static void drop_first_lines(std::vector<Chunk>& newest_first, std::size_t lines,
                               std::size_t wanted) {
    for (auto chunk = newest_first.rbegin(); chunk != newest_first.rend(); ++chunk) {
      if (lines <= wanted) return;
      std::size_t cut = 0;
      for (; lines > wanted && cut < chunk->text.size(); ++cut)
        if (chunk->text[cut] == '\n') --lines;
      chunk->text.erase(0, cut);
    }
  }

  Result<Json> read(std::string_view from, const std::string& value) {
    std::string query = fmt::format("/logs?{}={}", from, sys::url_encode(value));
    if (!flags_.stream.empty()) query += "&stream=" + flags_.stream;
    if (!flags_.member.empty()) query += "&member=" + sys::url_encode(flags_.member);
    Json page = TRY(get_json(server_, run_path(flags_.run) + query));
    for (const Json& gap : items(page, "gaps"))
      complain("logs", fmt::format("bytes {} to {} of {} were not kept", gap.get_string("from"),
                                   gap.get_string("to"), gap.get_string("stream")));
    return page;
  }

  const sys::HttpTarget& server_;
  const LogsFlags& flags_;
  LogWriter writer_;
};

Result<int> print_logs(LogsFlags flags, std::optional<std::size_t> tail) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  // Named in each request: a lower rank or another attempt may come meanwhile.
  const Json run = TRY(get_json(server, run_path(flags.run)));
  flags.run = run.get_string("id");
  const Json::Array& members = items(run, "members");
  if (flags.member.empty() && !members.empty())
    flags.member = std::to_string(members.front().get_int("member"));
  const auto is_asked = [&](const Json& one) {
    return std::to_string(one.get_int("member")) == flags.member;
  };
  if (!flags.member.empty() && std::ranges::none_of(members, is_asked))
    return fail(Code::kNotFound, "the run has no member " + printable(flags.member) +
                                     "; `corral show` lists those that it has");
  Logs logs(server, flags);
  TRY(tail ? logs.print_tail(*tail) : logs.print_all());
  if (std::fflush(stdout) != 0) return fail_errno("writing the output", errno);
  return kDone;
}

}  // namespace

int logs_command(std::span<char* const> args) {
  LogsFlags flags;
  Arguments arguments("logs",
                      "Prints the output of a run that is stored: of a running run, what it wrote "
                      "so far.",
                      kLogsExamples);
  arguments.positional("run", flags.run, kRunHelp, true);
  arguments.choice("stream", flags.stream, {"stdout", "stderr", "tty"},
                   "only this stream (default: all)");
  arguments.text("tail", flags.tail, "only the last N lines (default: all)");
  arguments.text("member", flags.member,
                 "of this process, as `corral show` numbers it (default: rank 0's)");
  for (const char* name : {"stream", "tail", "member"}) arguments.as_flag_only(name);
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  std::optional<std::size_t> tail;
  if (!flags.tail.empty()) {
    const auto lines = parse_int(flags.tail);
    if (!lines || *lines < 1 || *lines > kMostTail) {
      complain("logs", fmt::format("--tail must be from 1 to {}", kMostTail));
      return kMisuse;
    }
    tail = static_cast<std::size_t>(*lines);
  }
  return finish("logs", print_logs(flags, tail));
}

}  // namespace corral::cli
