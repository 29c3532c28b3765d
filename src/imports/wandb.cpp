#include "imports/wandb.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "imports/files.h"
#include "imports/wandb_file.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;

struct HeadedFile {
  fs::path path;
  WandbRun::Head head;

  [[nodiscard]] std::string identity() const {
    return fmt::format("W&B {}/{}/{}", head.entity, head.project, head.id);
  }
};

class FilesImport {
 public:
  FilesImport(const ImportOptions& options, Importer& importer, std::int64_t total)
      : options_(options), importer_(importer), total_(total) {}

  // Reads a file up to the record that says which run it is of.
  Result<std::optional<HeadedFile>> read_head(const fs::path& path) {
    Counting ignored;
    WandbRun run(ignored);
    std::optional<Error> damage;
    const auto take = [&](std::string_view record) -> Result<bool> {
      TRY(run.read(record, nullptr));
      return !run.head().has_value();
    };
    TRY(each_record(path, take, damage));
    if (run.head()) return HeadedFile{.path = path, .head = *run.head()};
    if (damage) {
      importer_.damaged(fmt::format("{}: {}", path.string(), damage->message));
    } else {
      importer_.note(path.string() + ": it does not name its run yet");
    }
    return std::nullopt;
  }

  // The files of one run, in the order of their starts.
  Result<> import(const std::vector<HeadedFile>& files) {
    const WandbRun::Head& head = files.front().head;
    const std::string name = head.name.empty() ? head.id : head.name;
    const auto sink = TRY(importer_.begin(
        {.identity = files.front().identity(),
         .name = options_.name.empty() ? name : options_.name,
         .experiment = options_.experiment.empty() ? head.project : options_.experiment,
         .host = head.host,
         .start = head.start}));
    WandbRun run(importer_);
    for (const HeadedFile& file : files) {
      TRY(sink->part(fmt::format("{} {}", ns_of(file.head.start), file.head.host)));
      std::optional<Error> damage;
      const auto take = [&](std::string_view record) -> Result<bool> {
        TRY(run.read(record, sink.get()));
        return true;
      };
      TRY(each_record(file.path, take, damage));
      if (damage)
        importer_.damaged(fmt::format("{}: {}; what precedes it is imported", file.path.string(),
                                      damage->message));
    }
    return run.finish(*sink);
  }

 private:
  // For heads: what they leave out is counted when they are read again.
  class Counting final : public Importer {
   public:
    Result<std::unique_ptr<RunSink>> begin(const RunDetails&) override {
      return fail(Code::kInternal, "no run begins here");
    }
    Result<std::optional<std::string>> remembered(const std::string&) override {
      return std::nullopt;
    }
    Result<> at(std::string_view, std::int64_t, std::int64_t) override { return {}; }
  };

  // Calls take(record) until it returns false. Errors are those of `take` and of the system.
  Result<> each_record(const fs::path& path,
                       const std::function<Result<bool>(std::string_view)>& take,
                       std::optional<Error>& damage) {
    const sys::Fd file = TRY(open_regular(path));
    WandbRecords records;
    std::string buffer;
    bool more = true;
    const auto take_piece = [&](std::string_view piece) -> Result<> {
      records.add(piece);
      while (more && !damage) {
        const auto record = records.next();
        if (!record) {
          damage = record.error();
        } else if (!*record) {
          break;
        } else {
          more = TRY(take(**record));
        }
      }
      done_ += static_cast<std::int64_t>(piece.size());
      return importer_.at("importing", std::min(done_, total_), total_);
    };
    while (more && !damage && TRY(read_piece(file, path, buffer, take_piece)) > 0) {
    }
    tell_rest(records, path, more && !damage, importer_);
    return {};
  }

  const ImportOptions& options_;
  Importer& importer_;
  std::int64_t total_, done_ = 0;
};

}  // namespace

Result<> import_wandb(const fs::path& path, const ImportOptions& options, Importer& importer) {
  std::error_code error;
  std::vector<fs::path> paths = {path};
  if (fs::is_directory(path, error))
    paths = TRY(find_below(path, [](std::string_view name) { return name.ends_with(".wandb"); }));
  if (paths.empty())
    return fail(Code::kNotFound, path.string() + ": no offline runs of W&B are in it");
  FilesImport import(options, importer, total_size(paths));
  std::map<std::string, std::vector<HeadedFile>> runs;
  for (const fs::path& file : paths) {
    if (const auto headed = TRY(import.read_head(file)))
      runs[headed->identity()].push_back(*headed);
  }
  if (runs.size() > 1 && !options.name.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds {} runs; --name is for one: name its directory",
                            path.string(), runs.size()));
  for (auto& [identity, files] : runs) {
    std::ranges::sort(
        files, {}, [](const HeadedFile& file) { return std::tuple(file.head.start, file.path); });
    TRY(import.import(files));
  }
  return {};
}

}  // namespace corral::imports
