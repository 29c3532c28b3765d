#include "imports/tensorboard.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>
#include <tuple>

#include "core/media_name.h"
#include "core/sha256.h"
#include "core/text.h"
#include "imports/event_file.h"
#include "imports/files.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;

// Directories in which Keras and others keep the parts of one training.
constexpr std::array<std::string_view, 7> kPartsOfATraining = {
    "train", "training", "validation", "val", "valid", "test", "eval"};

bool is_part_of_training(const std::string& name) {
  return std::ranges::find(kPartsOfATraining, name) != kPartsOfATraining.end();
}

std::string own_name(const fs::path& directory) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(directory, error);
  if (error) path = directory;
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

// The first level of a path below another; empty: it is right in there.
std::string first_level(const fs::path& below) {
  const fs::path parent = below.parent_path();
  return parent.empty() ? std::string() : parent.begin()->string();
}

// The time and the identity of an event file, which its first record has.
struct FileHead {
  double wall_time = 0;
  std::string identity;
};

// Nothing: the file has no complete record, or begins with a damaged one.
Result<std::optional<FileHead>> read_head(const fs::path& path) {
  const sys::Fd file = TRY(open_regular(path));
  RecordReader records;
  std::string buffer;
  for (;;) {
    const std::size_t count = TRY(read_piece(file, path, buffer, [&](std::string_view piece) {
      records.add(piece);
      return Result<>();
    }));
    const auto record = records.next();
    if (!record) return std::nullopt;
    if (*record) {
      return FileHead{
          .wall_time = wall_time_of(**record),
          .identity = fmt::format("{} {}", path.filename().string(), hex(sha256(**record)))};
    }
    if (count == 0) return std::nullopt;
  }
}

// Gives what one event file says to the run's sink.
class RunEvents final : public EventHandler {
 public:
  RunEvents(RunSink& sink, Importer& importer, std::string source,
            std::set<std::string, std::less<>>& params)
      : sink_(sink), importer_(importer), source_(std::move(source)), params_(params) {}

  Result<> scalar(std::string_view tag, const EventTime& time, double value) override {
    const auto at = time_of_seconds(time.wall_time);
    if (!at) {
      leave_out("scalars without a valid time");
      return {};
    }
    return sink_.point(
        {.metric = tag, .source = source_, .step = time.step, .time = *at, .value = value});
  }
  Result<> text(std::string_view tag, const EventTime& time, std::string_view text) override {
    const auto at = time_of_seconds(time.wall_time);
    if (!at) {
      leave_out("texts without a valid time");
      return {};
    }
    const std::string step = std::to_string(time.step);
    TextEvent event{.time = *at, .name = tag, .attributes = {{"text", text}, {"step", step}}};
    if (!source_.empty()) event.attributes.emplace_back("source", source_);
    TRY(sink_.event(event));
    return medium(tag, time, {.what = "texts as media", .ending = "txt", .content = text});
  }
  Result<> medium(std::string_view tag, const EventTime& time, const EventMedium& medium) override {
    const auto path = event_media_path(source_, tag, time, medium);
    if (path) return sink_.medium(*path, medium.content);
    importer_.leave_out(
        fmt::format("{} with a name of over {} bytes", medium.what, kMediaNameBytes));
    return {};
  }
  // A name's first value counts; one of another trial in a directory below is told apart by it.
  Result<> hparam(std::string_view name, std::string_view value) override {
    if (params_.emplace(name).second || source_.empty()) {
      sink_.param(name, value);
    } else {
      sink_.param(fmt::format("{}/{}", source_, name), value);
    }
    return {};
  }
  void leave_out(std::string_view what) override { importer_.leave_out(what); }

 private:
  RunSink& sink_;
  Importer& importer_;
  std::string source_;
  std::set<std::string, std::less<>>& params_;
};

struct HeadedFile {
  EventFile file;
  FileHead head;
};

class LogImport {
 public:
  LogImport(const ImportOptions& options, Importer& importer, std::int64_t total)
      : options_(options), importer_(importer), total_(total) {}

  Result<> import(const LogRun& run) {
    std::vector<HeadedFile> files;
    for (const EventFile& file : run.files) {
      auto head = TRY(read_head(file.path));
      if (head) {
        files.push_back({file, *std::move(head)});
      } else {
        TRY(tell_unreadable(file.path));
      }
    }
    if (files.empty()) return {};
    const auto order = [](const HeadedFile& file) {
      return std::tuple(file.head.wall_time, file.head.identity);
    };
    const HeadedFile& oldest = *std::ranges::min_element(files, {}, order);
    start_ = end_ = oldest.head.wall_time;
    const auto start = time_of_seconds(start_);
    const auto sink = TRY(importer_.begin(
        {.identity = fmt::format("TensorBoard {}/{}", oldest.file.source, oldest.head.identity),
         .name = options_.name.empty() ? run.name : options_.name,
         .experiment = options_.experiment,
         .host = host_of_event_file(oldest.file.path.filename().string()),
         .start = start.value_or(UtcTime{})}));
    params_.clear();
    for (const HeadedFile& file : files) TRY(read(file, *sink));
    return sink->finish({.start = start,
                         .end = time_of_seconds(end_).value_or(start.value_or(UtcTime{})),
                         .exit_code = {},
                         .running = false});
  }

 private:
  // An empty file is one that was just opened.
  Result<> tell_unreadable(const fs::path& path) {
    const sys::Fd file = TRY(open_regular(path));
    std::string begin;
    TRY(read_piece(file, path, begin, [&](std::string_view piece) {
      if (piece.size() >= 12 && !begins_as_records(piece))
        importer_.damaged(path.string() + ": the record at byte 0 is damaged");
      return Result<>();
    }));
    return {};
  }

  Result<> read(const HeadedFile& headed, RunSink& sink) {
    const fs::path& path = headed.file.path;
    TRY(sink.part(headed.file.source + "/" + headed.head.identity));
    const sys::Fd file = TRY(open_regular(path));
    RunEvents handler(sink, importer_, headed.file.source, params_);
    EventReader events;
    RecordReader records;
    std::string buffer;
    std::optional<Error> damage;
    const auto take = [&](std::string_view piece) -> Result<> {
      records.add(piece);
      while (!damage) {
        const auto record = records.next();
        if (!record) {
          damage = record.error();
          break;
        }
        if (!*record) break;
        TRY(events.read(**record, handler));
        if (events.wall_time() > end_ && time_of_seconds(events.wall_time()))
          end_ = events.wall_time();
      }
      done_ += static_cast<std::int64_t>(piece.size());
      return importer_.at("importing", done_, total_);
    };
    while (!damage && TRY(read_piece(file, path, buffer, take)) > 0) {
    }
    if (damage) {
      importer_.damaged(
          fmt::format("{}: {}; what precedes it is imported", path.string(), damage->message));
    }
    tell_rest(records, path, !damage, importer_);
    return {};
  }

  const ImportOptions& options_;
  Importer& importer_;
  std::int64_t total_, done_ = 0;
  double start_ = 0, end_ = 0;
  std::set<std::string, std::less<>> params_;
};

}  // namespace

std::vector<LogRun> runs_of_log(const fs::path& directory, const std::vector<fs::path>& files) {
  std::set<std::string> levels;
  for (const fs::path& file : files) levels.insert(first_level(file.lexically_relative(directory)));
  const bool one_run = levels.contains("") || std::ranges::all_of(levels, is_part_of_training);
  std::vector<LogRun> runs;
  for (const fs::path& file : files) {
    const fs::path below = file.lexically_relative(directory);
    const std::string level = one_run ? std::string() : first_level(below);
    const std::string name = one_run ? own_name(directory) : level;
    auto run = std::ranges::find(runs, name, &LogRun::name);
    if (run == runs.end()) run = runs.insert(run, LogRun{.name = name, .files = {}});
    const fs::path source =
        one_run ? below.parent_path() : below.parent_path().lexically_relative(level);
    run->files.push_back(
        {.path = file, .source = source == "." ? std::string() : source.generic_string()});
  }
  for (LogRun& run : runs) {
    std::ranges::sort(run.files, {}, [](const EventFile& file) {
      return std::tuple(file.source, file.path.filename().string());
    });
  }
  return runs;
}

// "events.out.tfevents.1700000000.HOST", then ".PID.NUMBER" and ".v2" by some writers.
std::string host_of_event_file(std::string_view name) {
  const std::size_t found = name.find("tfevents.");
  if (found == std::string_view::npos) return "";
  std::string_view rest = name.substr(found + std::string_view("tfevents.").size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return "";
  rest.remove_prefix(dot + 1);
  if (rest.ends_with(".v2")) rest.remove_suffix(3);
  const auto is_number = [](std::string_view text) { return parse_int(text).has_value(); };
  std::vector<std::string_view> parts = split(rest, '.');
  const bool numbered =
      parts.size() > 2 && is_number(parts.back()) && is_number(*(parts.end() - 2));
  // An address has four numbers of its own.
  if (numbered && (parts.size() == 6 || !std::ranges::all_of(parts, is_number)))
    rest.remove_suffix(parts.back().size() + (parts.end() - 2)->size() + 2);
  return std::string(rest);
}

Result<> import_tensorboard(const fs::path& path, const ImportOptions& options,
                            Importer& importer) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    LogImport import(options, importer, total_size({path}));
    const fs::path parent = fs::weakly_canonical(path, error).parent_path();
    return import.import({.name = own_name(parent), .files = {{.path = path, .source = {}}}});
  }
  const auto files = TRY(find_below(path, is_event_file_name));
  if (files.empty())
    return fail(Code::kNotFound, path.string() + ": no TensorBoard event files are in it");
  const std::vector<LogRun> runs = runs_of_log(path, files);
  if (runs.size() > 1 && !options.name.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds {} runs; --name is for one: name its directory",
                            path.string(), runs.size()));
  LogImport import(options, importer, total_size(files));
  for (const LogRun& run : runs) TRY(import.import(run));
  return {};
}

}  // namespace corral::imports
