#include "cli/import_trace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "codec/frame.h"
#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/times.h"
#include "core/sha256.h"
#include "core/text.h"
#include "http/gzip.h"
#include "imports/frame_sender.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "trace/trace_phases.h"
#include "upload/transport.h"

namespace corral::cli {
namespace {

using imports::derived_id;
using imports::FrameSender;
using trace::TraceCounts;
using trace::TracePhases;

constexpr std::size_t kTracePieceBytes = 256U << 10U;
constexpr std::size_t kPhasesPerFrame = 4096;
constexpr UtcTime kFirstDate = utc_time(946'684'800'000'000'000);  // 2000: no profiler is older
constexpr std::string_view kGzipBegin("\x1f\x8b", 2);

// The run that gets the phases.
struct TraceRun {
  RunId id;
  std::string name, host;
  std::optional<UtcTime> start, end;  // known of one that is there already
};

// Calls each(piece) for the bytes of a file, with the number of bytes before it.
template <class Each>
Result<> each_piece(const sys::Fd& file, const std::string& path, Each each) {
  std::string bytes(kTracePieceBytes, '\0');
  std::int64_t before = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(path, errno);
    if (count == 0) return {};
    TRY(each(std::string_view(bytes).substr(0, static_cast<std::size_t>(count)), before));
    before += count;
  }
}

struct ReadFile {
  trace::ChromeHeader header;
  std::string digest;  // SHA-256 of the JSON text
};

Result<ReadFile> read_trace(const std::string& path, TracePhases& phases,
                            const Progress& progress) {
  const sys::Fd file = TRY(sys::open_file(path, O_RDONLY));
  const std::int64_t size = std::max<std::int64_t>(0, ::lseek(file.get(), 0, SEEK_END));
  ::lseek(file.get(), 0, SEEK_SET);
  trace::ChromeEvents events([&](const trace::ChromeEvent& event) { phases.add(event); });
  http::GzipReader gzip;
  Sha256Stream hash;
  const auto read_text = [&](std::string_view text) -> Result<> {
    hash.add(text);
    return events.read(text);
  };
  bool packed = false;
  const auto read_piece = [&](std::string_view piece, std::int64_t before) -> Result<> {
    TRY(progress.watch().at("reading", before, size));
    if (before == 0) packed = piece.starts_with(kGzipBegin);
    return packed ? gzip.read(piece, read_text) : read_text(piece);
  };
  TRY(each_piece(file, path, read_piece));
  TRY(gzip.finish());
  ReadFile done;
  done.header = TRY(events.finish());
  done.digest = hex(hash.finish());
  return done;
}

SessionId trace_session(RunId run, const std::string& digest) {
  return derived_id<SessionId>("phases of a trace of run " + run.hex(), digest);
}

std::optional<UtcTime> time_member(const Json& run, const char* name) {
  const auto ns = parse_int(run.get_string(name));
  return ns ? std::optional(utc_time(*ns)) : std::nullopt;
}

Result<TraceRun> find_trace_run(const sys::HttpTarget& server, const std::string& name) {
  const Json run = TRY(get_json(server, run_path(name)));
  return TraceRun{.id = TRY(RunId::parse(run.get_string("id"))),
                  .name = run.get_string("name"),
                  .host = run.get_string("host"),
                  .start = time_member(run, "start_ns"),
                  .end = time_member(run, "end_ns")};
}

// "trace" of "a/trace.pt.trace.json.gz".
std::string name_of_file(const std::string& file) {
  std::string name = sys::fs::path(file).filename().string();
  for (const std::string_view end : {".gz", ".json", ".trace", ".pt"})
    if (name.ends_with(end) && name.size() > end.size()) name.resize(name.size() - end.size());
  return mlflow::phase_text(name, limits::kNameBytes);
}

Result<> check_overlap(const TraceRun& run, const TraceCounts& counts) {
  // The clocks of two machines differ.
  constexpr Nanos kSlack = std::chrono::minutes(1);
  const UtcTime latest = run.end ? *run.end : sys::utc_now() + kSlack;
  const bool after = counts.begin > latest || (!run.end && counts.end > latest);
  const bool before = run.start && counts.end < *run.start;
  if (!after && !before) return {};
  return fail(
      Code::kUnprocessable,
      fmt::format("the trace lies outside of the run's time: {} to {}, the run {} to {}; "
                  "without --run it becomes a run of its own",
                  iso_utc(counts.begin), iso_utc(counts.end), run.start ? iso_utc(*run.start) : "?",
                  run.end ? iso_utc(*run.end) : "now"));
}

// More phases than that are not explained.
Result<> check_room(const sys::HttpTarget& server, const TraceRun& run, const TraceCounts& counts) {
  constexpr std::int64_t kMost = std::int64_t{2} << 20;
  const Json phases = TRY(get_json(server, run_path(run.id.hex(), "/check-trace")));
  const std::int64_t there = phases.get_int("phases");
  if (there + static_cast<std::int64_t>(counts.phases) < kMost) return {};
  return fail(
      Code::kTooLarge,
      fmt::format("the run has {} phases and the trace {}, together more than the {} that can "
                  "be explained; without --run it becomes a run of its own",
                  there, counts.phases, kMost));
}

// A run of the trace's own.
Result<TraceRun> own_trace_run(const sys::HttpTarget& server, upload::Transport& transport,
                               const TraceFlags& flags, const std::string& digest) {
  const auto session_of = [&](RunId run) { return trace_session(run, digest); };
  const auto is_there = [&](RunId run) { return has_run(server, run); };
  const imports::OwnRun own =
      TRY(imports::find_own_run(transport, "a trace", digest, session_of, is_there));
  if (own.known) return find_trace_run(server, own.id.hex());
  return TraceRun{.id = own.id,
                  .name = flags.name.empty() ? name_of_file(flags.file) : flags.name,
                  .host = {},
                  .start = {},
                  .end = {}};
}

codec::SessionBody trace_session_body(const TraceRun& run, const TraceFlags& flags,
                                      UtcTime started) {
  codec::SessionBody body;
  body.run = run.id;
  body.workload = own_workload_of(run.id);
  body.experiment = flags.experiment.empty() ? "default" : flags.experiment;
  body.run_name = run.name;
  body.role = "import";
  body.boot_id = "client";
  body.anchor = mlflow::kClientAnchor;
  body.started = mlflow::phase_time(ns_of(started));
  return body;
}

Result<> send_phases(FrameSender& sender, const TracePhases& phases, std::uint64_t total,
                     const Progress& progress) {
  codec::PhasesBody body;
  std::uint64_t sent = 0;
  const auto send = [&]() -> Result<> {
    for (const auto& batch : mlflow::phase_batches(body.phases))
      TRY(sender.add(codec::PhasesBody{{batch.begin(), batch.end()}}));
    sent += body.phases.size();
    body.phases.clear();
    return progress.watch().at("importing", static_cast<std::int64_t>(sent),
                               static_cast<std::int64_t>(total));
  };
  const auto take = [&](codec::PhaseRecord phase) -> Result<> {
    body.phases.push_back(std::move(phase));
    return body.phases.size() < kPhasesPerFrame ? Result<>() : send();
  };
  TRY(phases.each(take));
  return send();
}

void print_counts(const TraceCounts& counts, const TraceRun& run, bool again) {
  fmt::print("{} {} in {} of {} ({}){}\n", again ? "has" : "imported",
             counted(counts.phases, "phase"), counted(counts.lanes, "lane"), printable(run.name),
             run.id.hex(), again ? ": imported before, nothing was added twice" : "");
  fmt::print("  {} from {} to {}, {}\n", counted(counts.events, "event"), iso_utc(counts.begin),
             iso_utc(counts.end), counted(counts.steps, "step"));
  if (counts.end < kFirstDate) fmt::print("  the trace has no date: its times count from 1970\n");
  if (counts.open > 0) fmt::print("  {} without an end\n", counted(counts.open, "phase"));
  for (const auto& [what, count] : counts.left_out) fmt::print("  left out: {} {}\n", count, what);
}

Result<int> import_into_run(const TraceFlags& flags, const Progress& progress) {
  const sys::HttpTarget server =
      TRY(flags.run.empty() ? connect_or_make(flags.destination) : connect(flags.destination));
  const auto transport = upload::http_transport(server);
  std::optional<TraceRun> run;
  if (!flags.run.empty()) run = TRY(find_trace_run(server, flags.run));
  const std::string host = run && !run->host.empty() ? run->host : "trace";
  TracePhases phases({.host = host,
                      .source = sys::fs::path(flags.file).filename().string(),
                      .operators = flags.operators});
  const ReadFile file = TRY(read_trace(flags.file, phases, progress));
  const TraceCounts counts = TRY(phases.arrange(file.header));
  if (run) {
    TRY(check_overlap(*run, counts));
  } else {
    run = TRY(own_trace_run(server, *transport, flags, file.digest));
  }
  const SessionId session = trace_session(run->id, file.digest);
  const std::uint64_t durable = TRY(transport->durable_seq(session));
  if (!flags.run.empty() && durable == 0) TRY(check_room(server, *run, counts));
  FrameSender sender(*transport, session, durable);
  if (durable == 0) TRY(sender.add(trace_session_body(*run, flags, counts.begin)));
  TRY(send_phases(sender, phases, counts.phases + 1, progress));
  if (flags.run.empty()) {
    codec::RunEndBody end;
    end.time = mlflow::phase_time(ns_of(counts.end));
    end.reason = codec::EndReason::kUnknown;
    TRY(sender.add(end));
  }
  TRY(sender.flush());
  print_counts(counts, *run, durable > 0);
  if (!file.header.closed) fmt::print("  the trace has no end: it may have been cut\n");
  return kDone;
}

}  // namespace

bool is_trace_file(const std::string& file) {
  // Bytes read from a pipe would be gone.
  if (std::error_code error; !sys::fs::is_regular_file(file, error)) return false;
  const auto opened = sys::open_file(file, O_RDONLY);
  if (!opened) return false;
  std::string begin(4096, '\0');
  const ssize_t count = ::read(opened->get(), begin.data(), begin.size());
  begin.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string_view text = trim(begin);
  return begin.starts_with(kGzipBegin) || text.starts_with('{') || text.starts_with('[');
}

int import_trace(const TraceFlags& flags) {
  Progress progress;
  const Result<int> done = import_into_run(flags, progress);
  progress.clear();
  if (!done) return store_failed("import", done.error(), "; the same command goes on");
  return *done;
}

}  // namespace corral::cli
