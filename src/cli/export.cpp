#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"

namespace corral::cli {
namespace {

constexpr const char* kExamples =
    "  corral export @1 --metric loss > loss.csv          metric,source,time_ns,step,value\n"
    "  corral export @1 @2 --metric 'host.*' --format json --output host.json\n";

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct Flags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string metric = "*";
  std::string format = "csv";
  std::string output;
};

// Several runs' CSV bodies follow one another below one header, with the run in front; JSON is one
// document per run and line.
class Sink {
 public:
  Sink(std::FILE* out, const Flags& flags)
      : out_(out), csv_(flags.format == "csv"), many_(flags.runs.size() > 1) {}
  void begin(const std::string& run) {
    run_ = run;
    skip_header_ = csv_ && runs_++ > 0;
    at_line_start_ = true;
    first_line_ = true;
  }
  bool put(std::string_view piece) {
    if (!csv_ || !many_) return std::fwrite(piece.data(), 1, piece.size(), out_) == piece.size();
    std::string text;
    for (const char c : piece) {
      const bool skipped = skip_header_ && first_line_;
      if (at_line_start_ && !skipped) text += (first_line_ ? "run" : run_) + ",";
      if (!skipped) text += c;
      at_line_start_ = c == '\n';
      first_line_ = first_line_ && c != '\n';
    }
    return std::fwrite(text.data(), 1, text.size(), out_) == text.size();
  }

 private:
  std::FILE* out_;
  bool csv_;
  bool many_;
  std::string run_;
  int runs_ = 0;
  bool skip_header_ = false;
  bool at_line_start_ = true;
  bool first_line_ = true;
};

Result<> export_run(sys::HttpClient& client, const Flags& flags, const std::string& run,
                    Sink& sink) {
  const std::string path =
      fmt::format("/api/corral/v1/runs/{}/export?metric={}&format={}", sys::url_encode(run),
                  sys::url_encode(flags.metric), flags.format);
  // An error answer comes as JSON and must not land in the file: its beginning is held back until
  // the status is known.
  const Json found = TRY(get_json(client.target(), "/api/corral/v1/runs/" + sys::url_encode(run)));
  sink.begin(found.get_string("id"));
  bool written = true;
  std::string body;
  const int status = TRY(client.stream(
      {.path = path, .body = {}, .timeout = std::chrono::hours(24)}, [&](std::string_view piece) {
        if (body.size() < 4096) body.append(piece.substr(0, 4096));
        written = sink.put(piece);
        return written;
      }));
  if (status != 200) return tl::unexpected(error_of_reply(status, body));
  return {};
}

}  // namespace

int export_command(std::span<char* const> args) {
  Flags flags;
  Arguments arguments("export",
                      "Writes the points of runs. CSV columns: metric,source,time_ns,step,value "
                      "(with several runs: run first).",
                      kExamples);
  arguments.positionals("run", flags.runs,
                        "RUN: an id, a unique prefix of one, a name, or @1 for the newest");
  arguments.text("metric", flags.metric, "which metrics, as a pattern with * and ? (default: all)");
  arguments.choice("format", flags.format, {"csv", "json"}, "csv or json (default: csv)");
  arguments.text("output", flags.output, "file to write (default: standard output)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto server = connect(flags.destination);
  if (!server) return report("export", server.error());
  File file;
  if (!flags.output.empty()) {
    file.reset(std::fopen(flags.output.c_str(), "we"));
    if (file == nullptr) return report("export", Error(fail_errno(flags.output, errno).value()));
  }
  std::FILE* out = file != nullptr ? file.get() : stdout;
  Sink sink(out, flags);
  sys::HttpClient client(*server);
  for (const std::string& run : flags.runs) {
    const auto done = export_run(client, flags, run, sink);
    if (!done) return report("export", done.error());
  }
  if (std::fflush(out) != 0)
    return report(
        "export",
        fail_errno(flags.output.empty() ? "standard output" : flags.output, errno).value());
  return kDone;
}

}  // namespace corral::cli
