#include "cli/import_runs.h"

#include <fmt/core.h>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "core/text.h"
#include "imports/interchange.h"
#include "imports/points_table.h"
#include "imports/run_writer.h"
#include "imports/tensorboard.h"
#include "imports/wandb.h"
#include "sys/process.h"
#include "upload/transport.h"

namespace corral::cli {
namespace {

// Aim's and Parquet's files are read by the Python package, with those tools' own libraries.
Result<> read_by_python(std::string_view reader, const RunsFlags& flags,
                        imports::Importer& importer) {
  const std::string python = TRY(python_with_package(fmt::format("reads {}", reader)));
  imports::Interchange interchange(flags.options, importer);
  Result<> taken;
  int status = 0;
  const auto captured =
      sys::capture_output({.argv = {python, "-m", "corral._import", std::string(reader),
                                    sys::fs::absolute(flags.from).string()},
                           .directory = {},
                           .limit = std::chrono::hours(24 * 7),
                           .idle = false,
                           .take =
                               [&](std::string_view piece) {
                                 taken = interchange.add(piece);
                                 return taken.has_value();
                               }},
                          &status);
  TRY(taken);
  if (!captured) return tl::unexpected(captured.error());
  if (status != 0)
    return fail(Code::kUnavailable, fmt::format("{} ended with status {} while it read {}", python,
                                                status, flags.from));
  return interchange.finish();
}

class StoreImporter final : public imports::Importer {
 public:
  StoreImporter(imports::Store& store, const Progress& progress)
      : store_(store), progress_(progress) {}

  Result<std::unique_ptr<imports::RunSink>> begin(const imports::RunDetails& run) override {
    return TRY(imports::RunWriter::open(store_, run));
  }
  Result<std::optional<std::string>> remembered(const std::string& identity) override {
    return imports::RunWriter::remembered(store_, identity);
  }
  Result<> at(std::string_view what, std::int64_t done, std::int64_t total) override {
    return progress_.watch().at(what, done, total);
  }

 private:
  imports::Store& store_;
  const Progress& progress_;
};

Result<> read_source(imports::SourceKind kind, const RunsFlags& flags,
                     imports::Importer& importer) {
  switch (kind) {
    case imports::SourceKind::kTensorboard:
      return imports::import_tensorboard(flags.from, flags.options, importer);
    case imports::SourceKind::kWandb:
      return imports::import_wandb(flags.from, flags.options, importer);
    case imports::SourceKind::kCsv:
      return imports::import_csv(flags.from, flags.options, importer);
    case imports::SourceKind::kAim:
      return read_by_python("aim", flags, importer);
    case imports::SourceKind::kParquet:
      return read_by_python("parquet", flags, importer);
  }
  return fail(Code::kInternal, "a source without a reader");
}

std::string with_new(std::uint64_t all, std::uint64_t fresh, std::string_view thing) {
  std::string text = counted(all, thing);
  if (fresh == 0 && all > 0) return text + " (none new)";
  return fresh < all ? fmt::format("{} ({} new)", text, fresh) : text;
}

void print_summary(const imports::ImportCounts& counts, const imports::Importer& importer) {
  if (counts.runs > 0)
    fmt::print("imported {}: {}, {}, {}, {}\n", with_new(counts.runs, counts.new_runs, "run"),
               with_new(counts.points, counts.new_points, "point"),
               with_new(counts.events, counts.new_events, "event"), counted(counts.params, "param"),
               counted(counts.tags, "tag"));
  if (counts.media > 0)
    fmt::print("  media: {} ({} sent)\n", counted(counts.media, "file"), counts.sent_media);
  if (counts.refused_media > 0)
    fmt::print("  left out: {} that the server does not take\n",
               counted(counts.refused_media, "media file"));
  if (counts.runs > 0 && counts.empty_runs > 0)
    fmt::print("  left out: {} without points, events, params and tags\n",
               counted(counts.empty_runs, "run"));
  for (const auto& [what, count] : importer.left_out())
    fmt::print("  left out: {} {}\n", count, printable(what));
  if (counts.moved_times > 0)
    fmt::print("  {} before 1965 or after 2110 became the nearest one that can be stored\n",
               counted(counts.moved_times, "time"));
  if (counts.cut_texts > 0) fmt::print("  {} cut\n", counted(counts.cut_texts, "long text"));
  for (const std::string& note : importer.notes()) fmt::print("  {}\n", printable(note));
}

Result<int> import_from(imports::SourceKind kind, const RunsFlags& flags,
                        const Progress& progress) {
  const sys::HttpTarget server = TRY(connect_or_make(flags.destination));
  const auto transport = upload::http_transport(server);
  imports::Store store{.transport = *transport,
                       .has_run = [&](RunId run) { return has_run(server, run); },
                       .info_of = [&](RunId run, const std::string& key) -> Result<std::string> {
                         const Json found = TRY(get_json(server, run_path(run.hex())));
                         const Json& info = member(member(found, "info"), key.c_str());
                         return info.dump();
                       }};
  StoreImporter importer(store, progress);
  const auto read = read_source(kind, flags, importer);
  if (read || store.counts.runs > 0) print_summary(store.counts, importer);
  if (!read) return tl::unexpected(read.error());
  if (store.counts.runs == 0) {
    complain("import", fmt::format("nothing was imported: {} has no points, events, params or tags",
                                   flags.from));
    return kFailed;
  }
  return importer.saw_damage() ? kFailed : kDone;
}

}  // namespace

int import_runs(imports::SourceKind kind, const RunsFlags& flags) {
  Progress progress;
  const Result<int> done = import_from(kind, flags, progress);
  progress.clear();
  if (!done) return store_failed("import", done.error(), "; the same command goes on");
  return *done;
}

}  // namespace corral::cli
