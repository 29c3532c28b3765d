#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/output_target.h"
#include "cli/progress_line.h"
#include "core/text.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

constexpr const char* kExportExamples =
    "  corral export @1 --metric loss > loss.csv          metric,source,time_ns,step,value\n"
    "  corral export @1 @2 --metric 'host.*' --format jsonl --output host.jsonl\n"
    "  corral export @1 -o run.parquet                    by Python, with pyarrow\n"
    "  corral export @1 -o run.pftrace                    phases and metrics, for "
    "ui.perfetto.dev\n";

struct ExportFlags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string metric = "*";
  std::string format;
  std::string output;
};

// Counts the marks of damaged parts by the ends of their lines: two rows without a value in CSV, an
// object in an object in JSON.
class GapCounter {
 public:
  explicit GapCounter(bool csv) : csv_(csv) {}
  void count_in(std::string_view piece) {
    for (auto at = piece.find('\n'); at != std::string_view::npos; at = piece.find('\n')) {
      std::string_view line = piece.substr(0, at);
      if (!begun_.empty()) line = begun_.append(line);
      if (csv_ ? line.ends_with(",,") : line.ends_with("}}") || line.ends_with("}},")) ++marks_;
      begun_.clear();
      piece.remove_prefix(at + 1);
    }
    begun_ += piece;
  }
  [[nodiscard]] std::int64_t count() const { return csv_ ? marks_ / 2 : marks_; }

 private:
  bool csv_;
  std::string begun_;  // a line whose end comes with the next piece
  std::int64_t marks_ = 0;
};

// Several runs' CSV bodies follow one another below one header, with the run in front; JSON is one
// document per run and line.
class ExportSink {
 public:
  ExportSink(OutputTarget& out, const ExportFlags& flags)
      : out_(out),
        csv_(flags.format == "csv"),
        lines_(flags.format != "perfetto"),
        gaps_(csv_),
        many_(flags.runs.size() > 1),
        to_file_(!flags.output.empty() && flags.output != "-") {}
  void begin(const std::string& run) {
    run_ = run;
    skip_header_ = csv_ && runs_++ > 0;
    at_line_start_ = true;
    first_line_ = true;
  }
  // False when it could not be written: error().
  bool put(std::string_view piece) {
    if (lines_) gaps_.count_in(piece);
    bytes_ += static_cast<std::int64_t>(piece.size());
    if (to_file_) progress_.tell_bytes("exported", bytes_);
    written_ = out_.write(csv_ && many_ ? with_run(piece) : piece);
    return written_.has_value();
  }
  void end() { progress_.clear(); }
  [[nodiscard]] const Result<>& written() const { return written_; }
  [[nodiscard]] std::int64_t gaps() const { return gaps_.count(); }

 private:
  std::string_view with_run(std::string_view piece) {
    text_.clear();
    while (!piece.empty()) {
      const std::string_view line = piece.substr(0, piece.find('\n') + 1);
      const std::string_view part = line.empty() ? piece : line;
      const bool skipped = skip_header_ && first_line_;
      if (at_line_start_ && !skipped) text_.append(first_line_ ? "run" : run_).append(",");
      if (!skipped) text_ += part;
      at_line_start_ = !line.empty();
      first_line_ = first_line_ && line.empty();
      piece.remove_prefix(part.size());
    }
    return text_;
  }

  OutputTarget& out_;
  bool csv_;
  bool lines_;
  GapCounter gaps_;
  bool many_;
  bool to_file_;  // else the terminal may be the output's own
  std::string run_, text_;
  int runs_ = 0;
  ProgressLine progress_;
  std::int64_t bytes_ = 0;
  bool skip_header_ = false;
  bool at_line_start_ = true;
  bool first_line_ = true;
  Result<> written_;
};

Result<> export_run(sys::HttpClient& client, const ExportFlags& flags, const std::string& run,
                    ExportSink& sink) {
  const std::string path = run_path(
      run, fmt::format("/export?metric={}&format={}", sys::url_encode(flags.metric), flags.format));
  // An error answer comes as JSON and must not land in the file: its beginning is held back until
  // the status is known.
  const Json found = TRY(get_json(client.target(), run_path(run)));
  sink.begin(found.get_string("id"));
  std::string body;
  const auto status = client.stream({.path = path, .body = {}, .timeout = std::chrono::hours(24)},
                                    [&](std::string_view piece) {
                                      if (body.size() < 4096) body.append(piece.substr(0, 4096));
                                      return sink.put(piece);
                                    });
  TRY(sink.written());
  if (!status) return tl::unexpected(status.error());
  if (*status != 200) return tl::unexpected(reply_error(*status, body));
  return {};
}

Result<int> export_pieces(const sys::HttpTarget& server, const ExportFlags& flags) {
  if (flags.format == "perfetto" && flags.runs.size() > 1)
    return fail(Code::kInvalidArgument, "a Perfetto trace is of one run: name one");
  OutputTarget out = TRY(OutputTarget::open(flags.output));
  ExportSink sink(out, flags);
  sys::HttpClient client(server);
  for (const std::string& run : flags.runs) TRY(export_run(client, flags, run, sink));
  TRY(out.finish());
  sink.end();
  if (sink.gaps() > 0) {
    fmt::print(stderr, "corral export: {}: points are missing that were damaged\n",
               counted(sink.gaps(), "gap"));
  }
  return kDone;
}

// There is no small writer of Parquet for C++: the Python package does it, in this process's place.
Result<int> become_python(const sys::HttpTarget& server, const ExportFlags& flags) {
  std::vector<std::string> words{TRY(python_with_package("writes Parquet")), "-m", "corral.export"};
  words.insert(words.end(), {"--metric", flags.metric, "--output", flags.output});
  if (server.unix_socket.empty()) words.insert(words.end(), {"--server", server.base_url});
  if (!server.unix_socket.empty()) words.insert(words.end(), {"--socket", server.unix_socket});
  if (!flags.destination.token_file.empty())
    words.insert(words.end(), {"--token-file", flags.destination.token_file});
  if (!server.ca_file.empty()) ::setenv("CORRAL_CA_FILE", server.ca_file.c_str(), 1);
  words.emplace_back("--");
  words.insert(words.end(), flags.runs.begin(), flags.runs.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Ctrl-C waits until the program can end quietly; it lets the signal through itself.
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  ::execv(argv[0], argv.data());
  return fail_errno(words[0], errno);
}

// By the file's ending, where no --format is given.
std::string_view format_of(std::string_view output) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kEndings = {
      {{".jsonl", "jsonl"}, {".json", "json"}, {".parquet", "parquet"}, {".pftrace", "perfetto"}}};
  for (const auto& [ending, format] : kEndings)
    if (output.ends_with(ending)) return format;
  return "csv";
}

Result<int> export_runs(ExportFlags flags) {
  if (flags.format.empty()) flags.format = format_of(flags.output);
  const sys::HttpTarget server = TRY(connect(flags.destination));
  return flags.format == "parquet" ? become_python(server, flags) : export_pieces(server, flags);
}

}  // namespace

int export_command(std::span<char* const> args) {
  ExportFlags flags;
  Arguments arguments("export",
                      "Writes the points of runs. CSV columns: metric,source,time_ns,step,value "
                      "(with several runs: run first).",
                      kExportExamples);
  arguments.positionals("run", flags.runs, kRunHelp);
  arguments.text("metric", flags.metric, "metric name or pattern with * and ? (default: all)");
  arguments.choice("format", flags.format, {"csv", "jsonl", "parquet", "json", "perfetto"},
                   "csv, jsonl, parquet, json or perfetto (default: by --output, or csv)");
  arguments.text("output", flags.output, "file to write, also -o (default: standard output)", 'o');
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("export", export_runs(flags));
}

}  // namespace corral::cli
