// W&B's offline files (run-ID.wandb): a log of `Record` messages (wandb_internal.proto) in blocks
// of 32 KiB, as LevelDB's log has them, with zlib's CRC-32.
//
// WandbRecords splits bytes into records; WandbRun collects what the records say of a run, and
// gives points to a sink. Both are pure and trust no byte; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "imports/imported_run.h"

namespace corral::imports {

class WandbRecords {
 public:
  // Records with more content are passed over and counted.
  static constexpr std::size_t kMostBytes = 32U << 20U;

  // Gives it the file's next bytes; views of records before become invalid.
  void add(std::string_view bytes);
  // Returns the content of the next record; nullopt: the bytes of it are not all there. kCorruption
  // names the byte of the damage, kUnsupported a file of another kind or version; nothing can be
  // read after either.
  Result<std::optional<std::string_view>> next();
  // Returns true if the bytes end inside of a record, or before the first.
  [[nodiscard]] bool incomplete() const { return at_ < bytes_.size() || in_record_; }
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }
  // The file's byte that is read next.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  // Adds a part of a record; true when the record is whole.
  Result<bool> add_part(unsigned type, std::string_view part);
  void take(std::size_t bytes);

  std::string bytes_;
  std::size_t at_ = 0;  // offset_, in bytes_
  std::uint64_t offset_ = 0;
  std::string record_;
  bool in_record_ = false;  // its first part was there, its last was not
  bool skipping_ = false;   // it is too long
  bool header_ = false;     // the file's header was read
  std::uint64_t too_long_ = 0;
};

class WandbRun {
 public:
  struct Head {
    std::string id, entity, project, name, host;
    UtcTime start{};
  };
  struct Item;

  explicit WandbRun(Importer& importer) : importer_(importer) {}
  // Reads a record; points go to `sink`, which may be nullptr for records before head() is known.
  Result<> read(std::string_view record, RunSink* sink);
  // The run as its last `run` record describes it.
  [[nodiscard]] const std::optional<Head>& head() const { return head_; }
  // Gives params, tags and the end to the sink.
  Result<> finish(RunSink& sink);

 private:
  struct Row;
  Result<> read_run(std::string_view message);
  void read_config(std::string_view message);
  bool parse_row(std::string_view message, Row& row);
  Result<> read_history(std::string_view message, RunSink& sink);
  std::optional<UtcTime> time_of(const Row& row) const;
  Result<> give_item(const Row& row, const Item& item, RunSink& sink);
  Result<> read_stats(std::string_view message, RunSink& sink);
  void read_summary(std::string_view message);
  void read_exit(std::string_view message);
  Result<> add_value(const Row& row, const std::string& key, const Json& value, int depth,
                     RunSink& sink);
  void set_param(const std::string& key, std::string_view json);
  void flatten_param(const std::string& key, const Json& value, int depth);
  void note_time(UtcTime time) { end_ = std::max(end_.value_or(time), time); }

  Importer& importer_;
  std::optional<Head> head_;
  std::map<std::string, std::string> params_, tags_, summary_;
  std::map<std::string, bool> logged_;  // metrics of the history
  std::optional<UtcTime> end_;
  std::optional<std::int32_t> exit_code_;
};

}  // namespace corral::imports
