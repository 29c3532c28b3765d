#include "compat/mlflow/import/import.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "compat/mlflow/import/copy_artifacts.h"
#include "compat/mlflow/import/points.h"
#include "compat/mlflow/import/runs.h"
#include "compat/mlflow/import/tables.h"
#include "core/text.h"

namespace corral::store::importing {
namespace {

constexpr std::size_t kRunsAtOnce = 64;

class Import {
 public:
  Import(Source& source, Store& store, const ImportOptions& options, const maintain::Watch& watch)
      : source_(source),
        store_(store),
        reader_(store, options.access),
        options_(options),
        watch_(watch),
        sink_(store, reader_) {}

  Result<ImportReport> go() {
    TRY(watch_.at("looking at the source", 0, 0));
    experiments_ = TRY(copy_experiments(source_, store_, options_.artifacts != nullptr));
    runs_ = TRY(read_runs(source_));
    for (const SourceRun& run : runs_) total_points_ += run.points;
    const Result<> copied = copy_runs();
    TRY(sink_.finish());  // also keeps points that were read before an interrupt
    TRY(copied);
    copied_ = TRY(copy_tables(source_, store_, experiments_, watch_));
    spans_ = TRY(copy_spans(source_, store_, reader_, watch_));
    copied_.push_back({.what = std::string(kSpans), .added = spans_.added});
    TRY(copy_files());
    TRY(verify());
    note_what_differs();
    return std::move(report_);
  }

 private:
  Result<> copy_runs() {
    for (std::size_t at = 0; at < runs_.size(); at += kRunsAtOnce)
      TRY(copy_batch(std::span(runs_).subspan(at, std::min(kRunsAtOnce, runs_.size() - at))));
    return {};
  }

  Result<> copy_batch(std::span<const SourceRun> runs) {
    const WrittenRuns written =
        TRY(write_runs(source_, store_, experiments_, runs, options_.artifacts != nullptr));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!written[i]) {
        ++left_out_;
        done_points_ += runs[i].points;
        continue;
      }
      there_.push_back(&runs[i]);
      wanted_.push_back(*written[i]);
      TRY(copy_points(source_, store_, sink_, runs[i], points_, [&](std::int64_t points) {
        done_points_ += points;
        return watch_.at("points", done_points_, total_points_);
      }));
    }
    return {};
  }

  Result<> copy_files() {
    if (options_.artifacts == nullptr) return {};
    const CopiedFiles copied = TRY(copy_artifacts(
        {.source = source_, .store = store_, .experiments = experiments_, .runs = there_},
        {.to = *options_.artifacts, .root = options_.artifacts_root}, watch_));
    report_.files = copied.files;
    report_.bytes = copied.bytes;
    for (const auto& [why, left] : copied.left_out) {
      report_.uncopied += left.count;
      report_.notes.push_back(
          fmt::format("the artifacts at {} were not copied: {}",
                      counted(static_cast<std::uint64_t>(left.count), "location"), why));
      for (const std::string& uri : left.first) report_.notes.push_back("  " + uri);
      const auto named = static_cast<std::int64_t>(left.first.size());
      if (left.count > named)
        report_.notes.push_back(fmt::format("  and {} more", left.count - named));
    }
    return {};
  }

  // Counts the rows that the store returns, not those that were sent.
  Result<> verify() {
    report_.counts.push_back(TRY(count_experiments(reader_, experiments_)));
    for (Count& count : TRY(count_runs(source_, reader_, there_, wanted_, watch_)))
      report_.counts.push_back(std::move(count));
    for (Count& count : TRY(count_tables(source_, reader_, experiments_, watch_))) {
      const auto copied = std::ranges::find(copied_, count.what, &Copied::what);
      if (copied != copied_.end()) count.added = copied->added;
      report_.counts.push_back(std::move(count));
    }
    report_.new_points = points_.read;
    return {};
  }

  void note_what_differs() {
    if (left_out_ > 0) {
      report_.notes.push_back(fmt::format("{} run{} removed from this store once and left out",
                                          left_out_, left_out_ == 1 ? " was" : "s were"));
    }
    if (points_.moved > 0) {
      report_.notes.push_back(fmt::format(
          "{} points lie outside the years 1965 to 2110 and stand at the nearest time inside",
          points_.moved));
    }
    for (const std::string& span : spans_.unread)
      report_.notes.push_back("not understood: " + span);
    if (spans_.archived > 0) {
      report_.notes.push_back(fmt::format(
          "{} spans lie in an archive of the old server's and stay there", spans_.archived));
    }
    for (const Count& count : report_.counts) {
      if (count.left_out > 0) {
        report_.notes.push_back(
            fmt::format("{} of the {} belong to nothing that is here", count.left_out, count.what));
      }
    }
    for (const auto& [from, to] : experiments_) {
      if (from != to.value) {
        report_.notes.push_back(
            fmt::format("experiment {} is {} here: the number was taken", from, to.value));
      }
    }
  }

  Source& source_;
  Store& store_;
  const Reader reader_;
  const ImportOptions& options_;
  const maintain::Watch& watch_;
  Sink sink_;
  Experiments experiments_;
  std::vector<SourceRun> runs_;
  std::vector<const SourceRun*> there_;
  std::vector<RunCounts> wanted_;  // one per run of `there_`
  std::vector<Copied> copied_;
  CopiedSpans spans_;
  PointCounts points_;
  std::int64_t total_points_ = 0, done_points_ = 0, left_out_ = 0;
  ImportReport report_;
};

}  // namespace

bool ImportReport::complete() const {
  return uncopied == 0 && std::ranges::all_of(counts, &Count::complete);
}

Result<ImportReport> import_database(Source& source, Store& store, const ImportOptions& options,
                                     const maintain::Watch& watch) {
  return Import(source, store, options, watch).go();
}

}  // namespace corral::store::importing
