// TensorBoard's event files: TFRecords whose content are `Event` messages (event.proto,
// summary.proto, tensor.proto and the messages of TensorBoard's own plugins).
//
// RecordReader splits bytes into records, EventReader turns a record into calls of an EventHandler.
// Both are pure, trust no byte, and hold a bounded part of the file; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/result.h"

namespace corral::imports {

// A record: length (8 bytes, little endian), masked crc32c of these, content, masked crc32c of it.
class RecordReader {
 public:
  // Records with more content (images, graphs) are passed over and counted.
  static constexpr std::uint64_t kMostBytes = 32U << 20U;

  // Gives it the file's next bytes; views of records before become invalid.
  void add(std::string_view bytes);
  // Returns the content of the next record; nullopt: the bytes of it are not all there. kCorruption
  // names the byte at which the damaged record begins; nothing can be read after it.
  Result<std::optional<std::string_view>> next();
  // The file's byte at which the next record begins.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // Returns true if the bytes end inside of a record.
  [[nodiscard]] bool incomplete() const { return at_ < bytes_.size() || skip_ > 0; }
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;      // the next record, in bytes_
  std::uint64_t skip_ = 0;  // bytes to come that belong to a record which is passed over
  std::uint64_t offset_ = 0;
  std::uint64_t too_long_ = 0;
};

struct EventTime {
  double wall_time = 0;  // Unix seconds
  std::int64_t step = 0;
};

// An image, a sound or a histogram as a file; a view for the call.
struct EventMedium {
  std::string_view what;    // "images"
  std::string_view ending;  // "png", "histogram.json"
  std::string_view content;
};

// The path of its file in a run. Sources have media of the same tag: theirs stands before it.
// Nothing: the name is too long.
std::optional<std::string> event_media_path(std::string_view source, std::string_view tag,
                                            const EventTime& time, const EventMedium& medium);

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual Result<> scalar(std::string_view tag, const EventTime& time, double value) = 0;
  virtual Result<> text(std::string_view tag, const EventTime& time, std::string_view text) = 0;
  virtual Result<> hparam(std::string_view name, std::string_view value) = 0;
  // `name`: the tag, followed by "/0", "/1", ... where a value holds several.
  virtual Result<> medium(std::string_view, const EventTime&, const EventMedium& medium) {
    leave_out(medium.what);
    return {};
  }
  // One more of what is not read, as "images".
  virtual void leave_out(std::string_view what) = 0;
};

class EventReader {
 public:
  // Reads an event of one file, in the file's order: the plugin of a tag is named at its first
  // value only. An error is the handler's; a record that is no Event is left out.
  Result<> read(std::string_view record, EventHandler& handler);
  // Wall time of the last record; of one that has none: 0.
  [[nodiscard]] double wall_time() const { return time_.wall_time; }

 private:
  enum class Content : std::uint8_t { kUnknown, kScalar, kText, kHparams, kMedia, kOther };
  struct Plugin {
    Content content = Content::kUnknown;
    std::string name;
  };
  struct Value;

  Result<> read_value(std::string_view bytes, EventHandler& handler);
  Result<> read_tensor(const Value& value, const Plugin& plugin, EventHandler& handler) const;
  // A value of the first version of summaries.
  Result<> read_old(const Value& value, EventHandler& handler) const;
  Result<> read_media(const Value& value, const Plugin& plugin, EventHandler& handler) const;
  Result<> give_file(std::string_view name, const EventMedium& medium, EventHandler& handler) const;
  const Plugin& plugin_of(const Value& value);

  EventTime time_;
  std::unordered_map<std::string, Plugin> plugins_;  // by tag
};

// Returns the wall time of an event; of a record that has none: 0.
double wall_time_of(std::string_view record);
// Returns true if it is the name of an event file: it has "tfevents." in it.
bool is_event_file_name(std::string_view name);
// Returns true if these are the first bytes of TFRecords: a length with its checksum.
bool begins_as_records(std::string_view bytes);

}  // namespace corral::imports
