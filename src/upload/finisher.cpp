#include "upload/finisher.h"

#include <algorithm>

#include "core/limits.h"
#include "spool/client_log.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "upload/artifacts.h"

namespace corral::upload {
namespace {

constexpr int kStoreChunks = 64;  // log frames per stream and round: 4 MiB

// When the run's files were written to last: frames, output, segments. Before this process writes
// to them. Before a restart of the machine, only UTC is known.
BootTime last_sign(const spool::RunDirectory& directory) {
  const spool::Manifest& run = directory.manifest();
  const sys::PrivateDirectory& files = directory.files();
  const BootTime now = sys::boot_now();
  const bool same_boot = run.child.value_or(run.supervisor).boot_id == sys::boot_id();
  const Nanos utc_minus_boot = same_boot
                                   ? sys::utc_now().time_since_epoch() - now.time_since_epoch()
                                   : run.anchor.utc_minus_boot;
  BootTime newest = run.begun.value_or(run.started);
  const auto look = [&](const spool::fs::path& name) {
    const auto facts = files.facts(name);
    if (!facts) return;
    const Nanos utc = std::chrono::seconds(facts->st_mtim.tv_sec) + Nanos(facts->st_mtim.tv_nsec);
    newest = std::max(newest, BootTime(utc - utc_minus_boot));
  };
  for (const std::string& name : files.list()) {
    if (name.ends_with(".frames") || name.ends_with(".log")) look(name);
  }
  for (const std::string& name : files.list(spool::kSegments)) {
    if (name.ends_with(".seg")) look(spool::fs::path(spool::kSegments) / name);
  }
  return same_boot ? std::min(newest, now) : newest;
}

// Returns true if the command itself wrote something: it was released, although its supervisor was
// killed before it noted that.
bool wrote(const spool::RunDirectory& directory) {
  const sys::PrivateDirectory& files = directory.files();
  const auto is_segment = [](const std::string& name) { return name.ends_with(".seg"); };
  if (std::ranges::any_of(files.list(spool::kSegments), is_segment)) return true;
  return std::ranges::any_of(files.list(), [&](const std::string& name) {
    if (!name.ends_with(".log")) return false;
    const auto facts = files.facts(name);
    return facts && facts->st_size > 0;
  });
}

// Its supervisor saw the end: only the rest must be delivered.
bool has_end(const spool::RunDirectory& directory) {
  constexpr std::size_t kReadBytes = 1u << 20;
  const std::vector<std::uint64_t> files = spool::frame_files(directory.files());
  if (files.empty()) return false;
  spool::FrameLogReader reader(directory.files());
  for (std::uint64_t after = files[files.size() - std::min<std::size_t>(files.size(), 2)] - 1;;) {
    const auto frames = reader.read(after, kReadBytes);
    if (!frames || frames->empty()) return false;
    for (const codec::Bytes& bytes : *frames) {
      const auto frame = codec::decode_frame(bytes);
      if (!frame) return false;
      if (frame->header.kind == codec::FrameKind::kRunEnd) return true;
      after = frame->header.last;
    }
  }
}

}  // namespace

struct Finisher::Adopted {
  explicit Adopted(spool::RunDirectory d)
      : directory(std::move(d)),
        last_sign(upload::last_sign(directory)),
        has_end(upload::has_end(directory)),
        uploader(directory, [this] { return !ended; }) {}
  spool::RunDirectory directory;
  // The run's last sign of life before it was taken over.
  BootTime last_sign;
  bool has_end;
  std::optional<spool::Journal> journal;
  std::vector<spool::OutputFile> outputs;
  bool terminal = false;  // its output comes through a holder, which may write after its end
  bool seen_dead = false;
  bool seen_alive = false;
  bool ran = false;       // its command wrote something
  bool reported = false;  // that it has no supervisor
  bool ended = false;
  Uploader uploader;
  Knowledge knowledge = Knowledge::kAssumed;  // the server's, for the next files
  std::unique_ptr<Successor> successor;       // nullptr: none; last: its threads use the rest
};

Finisher::Finisher(std::vector<spool::fs::path> roots, spool::Destination destination,
                   MakeSuccessor successor, EndStatus end_status)
    : roots_(std::move(roots)),
      destination_(std::move(destination)),
      make_successor_(std::move(successor)),
      end_status_(std::move(end_status)) {}
Finisher::~Finisher() = default;

void Finisher::complain(const std::string& problem) {
  if (reported_.insert(problem).second) problems_.push_back(problem);
}

// A directory that cannot be locked or read: locked, because its supervisor lives; without a
// manifest, because it is being made or removed; or broken.
void Finisher::refuse(const spool::fs::path& path, const Error& error) {
  if (error.code == Code::kNotFound) return spool::RunDirectory::clear_remains(path);
  if (error.code != Code::kUnavailable) return complain(error.message);
  const auto manifest = spool::RunDirectory::read_manifest(path);
  if (manifest && manifest->destination == destination_) ++supervised_;
}

void Finisher::adopt(const spool::fs::path& path) {
  auto directory = spool::RunDirectory::adopt(path);
  if (!directory) return refuse(path, directory.error());
  if (directory->manifest().destination != destination_ || directory->only_refused()) return;
  auto run = std::make_unique<Adopted>(std::move(*directory));
  auto journal = spool::Journal::open(run->directory, limits::kSpoolBytes);
  if (!journal) return complain(journal.error().with_context(path.string()).message);
  run->journal.emplace(std::move(*journal));
  const sys::PrivateDirectory& files = run->directory.files();
  spool::repair_client_logs(files);
  run->journal->describe(spool::session_body(run->directory.manifest()));
  run->terminal = files.exists(spool::output_name(codec::LogStream::kTty));
  for (const auto stream :
       {codec::LogStream::kStdout, codec::LogStream::kStderr, codec::LogStream::kTty}) {
    if ((stream == codec::LogStream::kTty) != run->terminal) continue;
    auto output = spool::OutputFile::open(run->directory, stream);
    if (!output) return complain(output.error().message);
    run->outputs.push_back(std::move(*output));
  }
  if (make_successor_) run->successor = make_successor_(run->directory, *run->journal);
  runs_[path.string()] = std::move(run);
}

void Finisher::adopt_new() {
  supervised_ = 0;
  std::vector<std::string> untrusted;
  for (const spool::fs::path& path : spool::find_runs(roots_, &untrusted)) {
    const auto known = runs_.find(path.string());
    if (known != runs_.end() && known->second->ended) continue;
    // A supervisor wants it back: it samples, too.
    if (spool::RunDirectory::wanted(path)) {
      if (known != runs_.end()) runs_.erase(known);
      ++supervised_;
    } else if (known == runs_.end()) {
      adopt(path);
    }
  }
  for (const std::string& problem : untrusted) complain("its runs are not finished: " + problem);
}

Result<> Finisher::finish_artifacts(Adopted& run, Transport& server) {
  if (server.http() == nullptr || !spool::anything_waits(run.directory.files())) return {};
  const std::atomic<bool> never{false};
  const Knowledge knowledge = std::exchange(run.knowledge, Knowledge::kAssumed);
  const ArtifactReport report =
      TRY(send_artifacts(run.directory.files(), *server.http(), never, knowledge));
  if (report.unknown) {
    run.knowledge = Knowledge::kTold;
    run.uploader.ask_again();
  }
  for (const std::string& refusal : report.refused) {
    run.journal->event("spool: " + refusal, {});
    complain(refusal);
  }
  return {};
}

codec::RunEndBody Finisher::end_of(Adopted& run) const {
  const spool::Manifest& manifest = run.directory.manifest();
  codec::RunEndBody end{.time = run.seen_alive ? sys::boot_now() : run.last_sign,
                        .reason = codec::EndReason::kUnknown,
                        .exit_code = {},
                        .exit_signal = {}};
  if (!manifest.begun && !run.seen_alive && !run.ran) {
    end.reason = codec::EndReason::kNotStarted;
    run.journal->facts(
        {{.kind = codec::FactKind::kTag, .key = "corral.outcome", .value = "not-started"},
         {.kind = codec::FactKind::kTag,
          .key = "corral.outcome.reason",
          .value = "its supervisor was killed before the command started"}});
  } else if (const auto status = end_status_ ? end_status_(manifest) : std::nullopt) {
    end.reason = codec::EndReason::kExit;
    end.exit_code = *status;
  }
  return end;
}

// A run that goes on without one, or did so until its end, looks like one in which nothing
// happened.
void Finisher::report_lost_supervisor(Adopted& run) {
  if (std::exchange(run.reported, true)) return;
  const codec::Health lost{.part = std::string(spool::kSupervisorPart),
                           .state = codec::HealthState::kGivenUp,
                           .reason =
                               "it was killed: no metrics of listeners and sources are "
                               "recorded from there on"};
  run.journal->health({&lost, 1}, run.last_sign);
}

void Finisher::end(Adopted& run) {
  if (run.successor != nullptr) run.successor->end();
  const auto& directory = run.directory;
  if (const auto kept = spool::keep_left_reports(directory.files(), directory.manifest().run);
      !kept)
    complain(kept.error().with_context(directory.path().string()).message);
  if (const std::uint64_t drops = run.directory.drops(); drops > 0) {
    run.journal->facts(
        {{.kind = codec::FactKind::kDrop, .key = "points", .value = std::to_string(drops)}});
  }
  if (!run.has_end) {
    const codec::RunEndBody end = end_of(run);
    if (end.reason != codec::EndReason::kNotStarted) report_lost_supervisor(run);
    run.journal->run_end(end);
  }
  run.ended = true;
}

bool Finisher::serving() const {
  return std::ranges::any_of(runs_, [](const auto& entry) {
    const auto& successor = entry.second->successor;
    return successor != nullptr && successor->serving();
  });
}

Result<bool> Finisher::finish(Adopted& run, Transport& server) {
  const auto& child = run.directory.manifest().child;
  // Asked first: a dead command writes nothing more.
  const bool alive = child && sys::is_alive(*child);
  run.seen_alive = run.seen_alive || alive;
  run.ran = run.ran || wrote(run.directory);
  if (alive && !run.has_end && run.directory.manifest().begun) report_lost_supervisor(run);
  bool more = false;
  for (spool::OutputFile& output : run.outputs) {
    more = output.store(*run.journal, kStoreChunks) || more;
    output.tidy(output.stored());
  }
  if (alive && run.successor != nullptr) run.successor->serve();
  const bool all = !more && (!run.terminal || std::exchange(run.seen_dead, !alive));
  if (!alive && all && !run.ended) end(run);
  StepReport report;
  do {
    report = TRY(run.uploader.step(server));
  } while (!report.idle);
  TRY(finish_artifacts(run, server));
  for (std::string& problem : run.uploader.take_problems()) {
    run.journal->event("spool: " + problem, {});
    complain(problem);
  }
  if (!run.ended || !run.uploader.finished()) return false;
  run.uploader.close();
  return true;
}

Result<> Finisher::step(Transport& server) {
  adopt_new();
  auto at = runs_.upper_bound(failed_);
  for (std::size_t left = runs_.size(); left > 0; --left) {
    if (at == runs_.end()) at = runs_.begin();
    const Result<bool> done = finish(*at->second, server);
    if (!done) {
      failed_ = at->first;
      return tl::unexpected(done.error());
    }
    at = *done ? runs_.erase(at) : std::next(at);
  }
  return {};
}

}  // namespace corral::upload
