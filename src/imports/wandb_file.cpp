#include "imports/wandb_file.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "codec/protobuf.h"
#include "core/text.h"
#include "imports/points_table.h"

namespace corral::imports {
namespace {

using codec::ProtoField;
using codec::ProtoReader;
using codec::ProtoWire;

constexpr std::size_t kHeadBytes = 7;  // the file's, and each part's of a record
constexpr std::size_t kBlockBytes = 32U << 10U;
// ":W&B", 0xBEE1, version 0.
constexpr std::string_view kFileHead(":W&B\xe1\xbe\0", kHeadBytes);
enum PartType : unsigned { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

std::uint32_t crc_of(char type, std::string_view content) {
  const auto* bytes = reinterpret_cast<const Bytef*>(content.data());
  const auto start = ::crc32(0, reinterpret_cast<const Bytef*>(&type), 1);
  return static_cast<std::uint32_t>(::crc32(start, bytes, static_cast<uInt>(content.size())));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t number = 0;
  for (std::size_t i = size; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

void WandbRecords::add(std::string_view bytes) {
  bytes_.erase(0, std::exchange(at_, 0));
  bytes_.append(bytes);
}

void WandbRecords::take(std::size_t bytes) {
  at_ += bytes;
  offset_ += bytes;
}

Result<bool> WandbRecords::add_part(unsigned type, std::string_view part) {
  const bool begins = type == kFull || type == kFirst;
  if (begins == in_record_)
    return fail(
        Code::kCorruption,
        fmt::format("the record at byte {} is damaged: its parts are out of order", offset_));
  if (begins) {
    record_.clear();
    skipping_ = false;
  }
  if (record_.size() + part.size() > kMostBytes) skipping_ = true;
  if (!skipping_) record_.append(part);
  in_record_ = type == kFirst || type == kMiddle;
  if (in_record_) return false;
  if (!skipping_) return true;
  ++too_long_;
  return false;
}

Result<std::optional<std::string_view>> WandbRecords::next() {
  for (;;) {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    if (!header_) {
      if (rest.size() < kHeadBytes) return std::nullopt;
      if (!rest.starts_with(kFileHead))
        return fail(Code::kUnsupported, "it does not begin as an offline file of W&B, version 0");
      header_ = true;
      take(kHeadBytes);
      continue;
    }
    // The end of a block that has no room for a part's head is zeros.
    const std::size_t left = kBlockBytes - static_cast<std::size_t>(offset_ % kBlockBytes);
    if (left < kHeadBytes) {
      if (rest.size() < left) return std::nullopt;
      take(left);
      continue;
    }
    if (rest.size() < kHeadBytes) return std::nullopt;
    const std::size_t size = number_at(rest, 4, 2);
    const auto type = static_cast<unsigned char>(rest[6]);
    if (type < kFull || type > kLast || size + kHeadBytes > left)
      return fail(Code::kCorruption,
                  fmt::format("the record at byte {} is damaged: its head is impossible", offset_));
    if (rest.size() < kHeadBytes + size) return std::nullopt;
    const std::string_view content = rest.substr(kHeadBytes, size);
    if (crc_of(static_cast<char>(type), content) != number_at(rest, 0, 4))
      return fail(
          Code::kCorruption,
          fmt::format("the record at byte {} is damaged: its content does not match its checksum",
                      offset_));
    const bool whole = TRY(add_part(type, content));
    take(kHeadBytes + size);
    if (whole) return record_;
  }
}

// ---- wandb_internal.proto; the numbers are the messages' field numbers
namespace {

constexpr int kDeepest = 16;

}  // namespace

struct WandbRun::Item {
  std::string key;
  std::vector<std::string_view> path;
  std::string_view json;
  std::optional<double> number;  // some writers send numbers as such
  bool other = false;            // no value, or one of another type
};

namespace {

using Item = WandbRun::Item;

// HistoryItem, SummaryItem, ConfigItem, StatsItem: a key, or a path of keys, and a value.
std::optional<Item> parse_item(std::string_view message) {
  Item item;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kBytes)) item.path.assign(1, field.bytes);
    if (field.is(2, ProtoWire::kBytes)) item.path.push_back(field.bytes);
    if (field.is(5, ProtoWire::kVarint))  // sint64
      item.number = static_cast<double>(
          static_cast<std::int64_t>((field.value >> 1U) ^ (~(field.value & 1U) + 1)));
    if (field.is(6, ProtoWire::kFixed64)) item.number = field.real();
    if (field.is(7, ProtoWire::kBytes) || field.is(3, ProtoWire::kVarint) ||
        field.is(4, ProtoWire::kVarint))
      item.other = true;
    if (field.is(8, ProtoWire::kBytes) || field.is(16, ProtoWire::kBytes)) item.json = field.bytes;
  }
  for (const std::string_view part : item.path) {
    if (!item.key.empty()) item.key += '.';
    item.key += part;
  }
  return reader.ok() && !item.key.empty() ? std::optional(std::move(item)) : std::nullopt;
}

// google.protobuf.Timestamp.
std::optional<UtcTime> parse_timestamp(std::string_view message) {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kVarint)) seconds = static_cast<std::int64_t>(field.value);
    if (field.is(2, ProtoWire::kVarint)) nanos = static_cast<std::int64_t>(field.value);
  }
  constexpr std::int64_t kMost = 9'000'000'000;
  if (!reader.ok() || seconds < -kMost || seconds > kMost || nanos < 0 || nanos >= 1'000'000'000)
    return std::nullopt;
  return utc_time(seconds * 1'000'000'000 + nanos);
}

// A number in JSON, or one that JSON cannot write: NaN, "NaN", Infinity.
std::optional<double> json_number(std::string_view json) {
  const std::string_view text = trim(json);
  if (const auto number = number_of(text)) return number;
  if (text == "\"NaN\"" || text == "\"Infinity\"" || text == "\"-Infinity\"")
    return number_of(text.substr(1, text.size() - 2));
  return std::nullopt;
}

// The text of a JSON string, or "unknown".
std::string unquoted(std::string_view json) {
  const auto value = Json::parse(json);
  const std::string* text = value ? value->as_string() : nullptr;
  return text != nullptr ? text->substr(0, 40) : "unknown";
}

bool is_internal(std::string_view key) {
  return key == "_step" || key == "_timestamp" || key == "_runtime" || key == "_wandb" ||
         key.starts_with("_wandb.");
}

}  // namespace

struct WandbRun::Row {
  std::optional<std::int64_t> step;
  UtcTime time{};
  std::optional<double> timestamp, runtime;
  std::vector<Item> items;         // without W&B's own
  std::vector<std::string> typed;  // beginnings of keys that are media: "hist."

  // An item that says when; others stay.
  void take(Item item) {
    if (item.key == "_timestamp") timestamp = item.number;
    if (item.key == "_runtime") runtime = item.number;
    if (item.key == "_step" && item.number && !step && std::fabs(*item.number) < 9e15)
      step = static_cast<std::int64_t>(*item.number);
    if (is_internal(item.key)) return;
    if (item.path.size() > 1 && item.path.back() == "_type")
      typed.push_back(item.key.substr(0, item.key.size() - item.path.back().size()));
    items.push_back(std::move(item));
  }
  [[nodiscard]] bool is_media(const Item& item) const {
    return std::ranges::any_of(
        typed, [&](const std::string& prefix) { return item.key.starts_with(prefix); });
  }
};

void WandbRun::flatten_param(const std::string& key, const Json& value, int depth) {
  const Json::Object* object = value.as_object();
  if (object == nullptr || object->empty() || depth == kDeepest) {
    const std::string* text = value.as_string();
    params_[key] = text != nullptr ? *text : value.dump();
    return;
  }
  for (const auto& [name, member] : *object)
    flatten_param(fmt::format("{}.{}", key, name), member, depth + 1);
}

void WandbRun::set_param(const std::string& key, std::string_view json) {
  if (is_internal(key)) return;
  const auto value = Json::parse(json);
  // A plain number stays as it is written.
  if (!value || value->is_double() || value->as_int() != nullptr) {
    params_[key] = std::string(trim(json));
  } else {
    flatten_param(key, *value, 0);
  }
}

void WandbRun::read_config(std::string_view message) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (!field.is(1, ProtoWire::kBytes) && !field.is(2, ProtoWire::kBytes)) continue;
    const auto item = parse_item(field.bytes);
    if (!item) {
      importer_.leave_out("malformed items");
      continue;
    }
    // An update, or a removal, replaces all that is below the key.
    const std::string below = item->key + ".";
    std::erase_if(params_, [&](const auto& param) {
      return param.first == item->key || param.first.starts_with(below);
    });
    if (field.number == 1) set_param(item->key, item->json);
  }
}

namespace {

// Fields of RunRecord that become tags.
struct TagField {
  std::uint32_t number;
  const char* key;
};
constexpr std::array<TagField, 5> kTagFields = {{{1, "wandb.run_id"},
                                                 {6, "wandb.group"},
                                                 {7, "wandb.job_type"},
                                                 {9, "wandb.notes"},
                                                 {12, "wandb.sweep"}}};

// A text of RunRecord's.
void read_head_field(const ProtoField& field, WandbRun::Head& head) {
  const std::string_view text = field.bytes;
  if (field.number == 1) head.id = text;
  if (field.number == 2) head.entity = text;
  if (field.number == 3) head.project = text;
  if (field.number == 8) head.name = text;
  if (field.number == 13) head.host = text;
  if (field.number != 17) return;
  if (const auto start = parse_timestamp(text)) head.start = *start;
}

}  // namespace

Result<> WandbRun::read_run(std::string_view message) {
  Head head;
  std::string tags;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.wire != ProtoWire::kBytes) continue;
    read_head_field(field, head);
    if (field.number == 4) read_config(field.bytes);
    if (field.number == 10) tags.append(tags.empty() ? "" : ",").append(field.bytes);
    const auto tag = std::ranges::find(kTagFields, field.number, &TagField::number);
    if (tag != kTagFields.end()) tags_[tag->key] = std::string(field.bytes);
  }
  if (!reader.ok()) {
    importer_.leave_out("malformed records");
    return {};
  }
  if (head.id.empty()) return {};
  if (!tags.empty()) tags_["wandb.tags"] = tags;
  // A later record has another start where the run was resumed.
  if (head_ && head_->start != UtcTime{} && head.start != UtcTime{})
    head.start = std::min(head_->start, head.start);
  head_ = std::move(head);
  return {};
}

Result<> WandbRun::add_value(const Row& row, const std::string& key, const Json& value, int depth,
                             RunSink& sink) {
  if (value.as_int() != nullptr || value.is_double())
    return sink.point(
        {.metric = key, .step = row.step, .time = row.time, .value = value.as_double(0)});
  const Json::Object* object = value.as_object();
  if (object == nullptr || depth == kDeepest) {
    importer_.leave_out("values of the history that are not numbers");
    return {};
  }
  if (const std::string type = value.get_string("_type"); !type.empty()) {
    importer_.leave_out("values of type " + type.substr(0, 40));
    return {};
  }
  for (const auto& [name, member] : *object)
    TRY(add_value(row, fmt::format("{}.{}", key, name), member, depth + 1, sink));
  return {};
}

// The row's items and step; false, and counted, where something of it is malformed.
bool WandbRun::parse_row(std::string_view message, Row& row) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(2, ProtoWire::kBytes)) {
      row.step = 0;  // protobuf does not write zeros
      ProtoReader step(field.bytes);
      ProtoField number;
      while (step.next(number))
        if (number.is(1, ProtoWire::kVarint)) row.step = static_cast<std::int64_t>(number.value);
    }
    if (!field.is(1, ProtoWire::kBytes)) continue;
    auto item = parse_item(field.bytes);
    if (!item) {
      importer_.leave_out("malformed items");
      continue;
    }
    if (!item->number && !item->other) item->number = json_number(item->json);
    row.take(*std::move(item));
  }
  if (!reader.ok()) importer_.leave_out("malformed records");
  return reader.ok();
}

std::optional<UtcTime> WandbRun::time_of(const Row& row) const {
  if (row.timestamp)
    if (const auto at = time_of_seconds(*row.timestamp)) return at;
  if (row.runtime && head_)
    if (const auto after = time_of_seconds(*row.runtime))
      return head_->start + after->time_since_epoch();
  return std::nullopt;
}

Result<> WandbRun::read_history(std::string_view message, RunSink& sink) {
  Row row;
  if (!parse_row(message, row)) return {};
  const std::optional<UtcTime> time = time_of(row);
  if (!time) {
    importer_.leave_out("rows of the history without a time");
    return {};
  }
  row.time = *time;
  note_time(*time);
  for (const Item& item : row.items) TRY(give_item(row, item, sink));
  return {};
}

Result<> WandbRun::give_item(const Row& row, const Item& item, RunSink& sink) {
  if (row.is_media(item)) {
    if (item.path.back() == "_type") importer_.leave_out("values of type " + unquoted(item.json));
    return {};
  }
  logged_.try_emplace(item.key, true);
  if (item.number)
    return sink.point(
        {.metric = item.key, .step = row.step, .time = row.time, .value = *item.number});
  const auto value = item.other ? Result<Json>(Json()) : Json::parse(item.json);
  return add_value(row, item.key, value ? *value : Json(), 0, sink);
}

Result<> WandbRun::read_stats(std::string_view message, RunSink& sink) {
  std::optional<UtcTime> time;
  std::vector<Item> items;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(2, ProtoWire::kBytes)) time = parse_timestamp(field.bytes);
    if (!field.is(3, ProtoWire::kBytes)) continue;
    if (auto item = parse_item(field.bytes)) items.push_back(std::move(*item));
  }
  if (!reader.ok() || !time) {
    importer_.leave_out(reader.ok() ? "system metrics without a time" : "malformed records");
    return {};
  }
  note_time(*time);
  for (const Item& item : items) {
    const auto value = json_number(item.json);
    if (!value) {
      importer_.leave_out("system metrics that are not numbers");
      continue;
    }
    TRY(sink.point({.metric = item.key, .source = "wandb", .time = *time, .value = *value}));
  }
  return {};
}

void WandbRun::read_summary(std::string_view message) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (!field.is(1, ProtoWire::kBytes) && !field.is(2, ProtoWire::kBytes)) continue;
    const auto item = parse_item(field.bytes);
    if (!item || is_internal(item->key)) continue;
    if (field.number == 2) {
      summary_.erase(item->key);
    } else if (!logged_.contains(item->key)) {
      const auto value = Json::parse(item->json);
      const std::string* text = value ? value->as_string() : nullptr;
      summary_[item->key] = text != nullptr ? *text : std::string(item->json);
    }
  }
}

void WandbRun::read_exit(std::string_view message) {
  std::int32_t code = 0;  // protobuf does not write zeros
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kVarint)) code = static_cast<std::int32_t>(field.value);
    if (field.is(2, ProtoWire::kVarint) && head_ && field.value < (1U << 30U))
      note_time(head_->start + std::chrono::seconds(field.value));
  }
  if (reader.ok()) exit_code_ = code;
}

namespace {

// A kind of record that is not read; the empty ones are W&B's own business.
struct UnreadRecord {
  std::uint32_t number;
  std::string_view things;
};
constexpr std::array<UnreadRecord, 20> kUnread = {{
    {1, ""},  // the record's number
    {4, "pieces of output"},
    {6, "lists of files"},
    {8, "artifacts"},
    {9, ""},  // logs of TensorBoard to copy
    {10, "alerts"},
    {11, ""},  // telemetry
    {12, ""},  // the way in which metrics are drawn
    {13, "pieces of output"},
    {16, ""},  // the record's way
    {19, ""},  // its id
    {20, ""},  // marks of the stream, to 24
    {21, ""},
    {22, ""},
    {23, ""},
    {24, ""},
    {25, "artifacts"},
    {26, "descriptions of the environment"},
    {100, ""},  // requests
    {200, ""},  // the record's stream
}};

}  // namespace

Result<> WandbRun::read(std::string_view record, RunSink* sink) {
  ProtoReader reader(record);
  ProtoField field;
  while (reader.next(field)) {
    const auto unread = std::ranges::find(kUnread, field.number, &UnreadRecord::number);
    if (unread != kUnread.end()) {
      if (!unread->things.empty()) importer_.leave_out(unread->things);
    } else if (field.is(2, ProtoWire::kBytes)) {
      if (sink != nullptr) TRY(read_history(field.bytes, *sink));
    } else if (field.is(3, ProtoWire::kBytes)) {
      read_summary(field.bytes);
    } else if (field.is(5, ProtoWire::kBytes)) {
      read_config(field.bytes);
    } else if (field.is(7, ProtoWire::kBytes)) {
      if (sink != nullptr) TRY(read_stats(field.bytes, *sink));
    } else if (field.is(17, ProtoWire::kBytes)) {
      TRY(read_run(field.bytes));
    } else if (field.is(18, ProtoWire::kBytes)) {
      read_exit(field.bytes);
    } else {
      importer_.leave_out("unknown records");
    }
  }
  if (!reader.ok()) importer_.leave_out("malformed records");
  return {};
}

Result<> WandbRun::finish(RunSink& sink) {
  for (const auto& [key, value] : params_) sink.param(key, value);
  for (const auto& [key, value] : tags_) sink.tag(key, value);
  // Parts of an image or a histogram are no summary.
  constexpr std::string_view kType = "_type";
  std::vector<std::string> media;
  for (const auto& [key, value] : summary_)
    if (key.ends_with("._type")) media.push_back(key.substr(0, key.size() - kType.size()));
  for (const auto& entry : summary_) {
    const auto inside = [&](const std::string& prefix) { return entry.first.starts_with(prefix); };
    if (!logged_.contains(entry.first) && std::ranges::none_of(media, inside))
      sink.tag("summary." + entry.first, entry.second);
  }
  const UtcTime start = head_ ? head_->start : UtcTime{};
  return sink.finish({.start = start,
                      .end = std::max(end_.value_or(start), start),
                      .exit_code = exit_code_,
                      .running = false});
}

}  // namespace corral::imports
