#include "imports/event_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "codec/crc32c.h"
#include "codec/protobuf.h"
#include "core/media_name.h"
#include "imports/event_media.h"

namespace corral::imports {
namespace {

using codec::ProtoField;
using codec::ProtoReader;
using codec::ProtoWire;

constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kTailBytes = 4;
// Bounds what a file of made-up tags can make this hold; TensorBoard itself holds every tag.
constexpr std::size_t kMostTags = 1U << 20U;
constexpr std::string_view kHistograms = "histograms";
constexpr std::string_view kHistogramEnding = "histogram.json";

template <class T>
T load(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// TensorFlow stores checksums rotated, because checksums of texts with checksums are weak.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = codec::crc32c(bytes.data(), bytes.size());
  return std::rotr(crc, 15) + 0xa282ead8U;
}

Error damaged(std::uint64_t offset, std::string_view what) {
  return {.code = Code::kCorruption,
          .message = fmt::format("the record at byte {} is damaged: {}", offset, what)};
}

}  // namespace

bool is_event_file_name(std::string_view name) {
  return name.find("tfevents.") != std::string_view::npos;
}

bool begins_as_records(std::string_view bytes) {
  return bytes.size() >= kHeadBytes &&
         masked_crc(bytes.substr(0, 8)) == load<std::uint32_t>(bytes.data() + 8);
}

void RecordReader::add(std::string_view bytes) {
  const std::uint64_t skipped = std::min<std::uint64_t>(skip_, bytes.size());
  skip_ -= skipped;
  offset_ += skipped;
  bytes.remove_prefix(static_cast<std::size_t>(skipped));
  bytes_.erase(0, std::exchange(at_, 0));
  bytes_.append(bytes);
}

Result<std::optional<std::string_view>> RecordReader::next() {
  for (;;) {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    if (rest.size() < kHeadBytes) return std::nullopt;
    if (!begins_as_records(rest))
      return tl::unexpected(damaged(offset_, "its length does not match its checksum"));
    const auto length = load<std::uint64_t>(rest.data());
    if (length > kMostBytes) {
      // Such a length has its checksum; one that no file can have is a made-up one.
      if (length > (std::uint64_t{1} << 48U))
        return tl::unexpected(damaged(offset_, "its length is impossible"));
      const std::uint64_t whole = kHeadBytes + length + kTailBytes;
      const std::uint64_t here = std::min<std::uint64_t>(whole, rest.size());
      at_ += static_cast<std::size_t>(here);
      offset_ += here;
      skip_ = whole - here;
      ++too_long_;
      if (skip_ > 0) return std::nullopt;
      continue;
    }
    const std::size_t whole = kHeadBytes + static_cast<std::size_t>(length) + kTailBytes;
    if (rest.size() < whole) return std::nullopt;
    const std::string_view content = rest.substr(kHeadBytes, static_cast<std::size_t>(length));
    if (masked_crc(content) != load<std::uint32_t>(rest.data() + whole - kTailBytes))
      return tl::unexpected(damaged(offset_, "its content does not match its checksum"));
    at_ += whole;
    offset_ += whole;
    return content;
  }
}

std::optional<std::string> event_media_path(std::string_view source, std::string_view tag,
                                            const EventTime& time, const EventMedium& medium) {
  const std::string name = source.empty() ? std::string(tag) : fmt::format("{}/{}", source, tag);
  return media_path(name, time.step, medium.ending);
}

double wall_time_of(std::string_view record) {
  double time = 0;
  ProtoReader reader(record);
  ProtoField field;
  while (reader.next(field))
    if (field.is(1, ProtoWire::kFixed64)) time = field.real();
  return time;
}

// ---- event.proto and what it holds; the numbers are the messages' field numbers
namespace {

enum DataType : std::uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1F;
  const int fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1F)
    return fraction == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 0x400, exponent - 25);
}

double bfloat16_to_double(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

// The first element of tensor_content, which holds elements as memory does.
std::optional<double> from_content(std::uint64_t type, std::string_view content) {
  const auto as = [&]<class T>(T) -> std::optional<double> {
    if (content.size() != sizeof(T)) return std::nullopt;
    return static_cast<double>(load<T>(content.data()));
  };
  switch (type) {
    case kFloat:
      return as(float{});
    case kDouble:
      return as(double{});
    case kInt32:
      return as(std::int32_t{});
    case kUint8:
      return as(std::uint8_t{});
    case kInt16:
      return as(std::int16_t{});
    case kInt8:
      return as(std::int8_t{});
    case kInt64:
      return as(std::int64_t{});
    case kBool:
      return as(std::uint8_t{});
    case kUint16:
      return as(std::uint16_t{});
    case kUint32:
      return as(std::uint32_t{});
    case kUint64:
      return as(std::uint64_t{});
    case kHalf:
    case kBfloat16: {
      if (content.size() != 2) return std::nullopt;
      const auto bits = load<std::uint16_t>(content.data());
      return type == kHalf ? half_to_double(bits) : bfloat16_to_double(bits);
    }
    default:
      return std::nullopt;
  }
}

// The field of TensorProto that holds a type's values, and how one is written.
struct ValueField {
  std::uint32_t number;
  ProtoWire wire;
};
std::optional<ValueField> value_field(std::uint64_t type) {
  switch (type) {
    case kFloat:
      return ValueField{5, ProtoWire::kFixed32};
    case kDouble:
      return ValueField{6, ProtoWire::kFixed64};
    case kInt32:
    case kUint8:
    case kInt16:
    case kInt8:
    case kUint16:
      return ValueField{7, ProtoWire::kVarint};
    case kInt64:
      return ValueField{10, ProtoWire::kVarint};
    case kBool:
      return ValueField{11, ProtoWire::kVarint};
    case kHalf:
    case kBfloat16:
      return ValueField{13, ProtoWire::kVarint};
    case kUint32:
      return ValueField{16, ProtoWire::kVarint};
    case kUint64:
      return ValueField{17, ProtoWire::kVarint};
    default:
      return std::nullopt;
  }
}

double from_value(std::uint64_t type, std::uint64_t value) {
  switch (type) {
    case kFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(value));
    case kDouble:
      return std::bit_cast<double>(value);
    case kHalf:
      return half_to_double(static_cast<std::uint16_t>(value));
    case kBfloat16:
      return bfloat16_to_double(static_cast<std::uint16_t>(value));
    case kUint32:
    case kUint64:
      return static_cast<double>(value);
    default:
      return static_cast<double>(static_cast<std::int64_t>(value));
  }
}

// Packed values of one field, which stand without tags.
std::optional<std::uint64_t> only_packed(ProtoWire wire, std::string_view bytes) {
  // A tag of field 1 in front makes a message of the first value.
  std::string one(1, static_cast<char>(8U | static_cast<unsigned>(wire)));
  one.append(bytes.substr(0, 10));
  ProtoReader reader(one);
  ProtoField field;
  if (!reader.next(field)) return std::nullopt;
  std::size_t size = wire == ProtoWire::kFixed64 ? 8 : 4;
  if (wire == ProtoWire::kVarint) {
    size = 1;
    while ((static_cast<unsigned char>(bytes[size - 1]) & 0x80U) != 0) ++size;
  }
  return size == bytes.size() ? std::optional(field.value) : std::nullopt;
}

struct Tensor {
  std::uint64_t type = 0;
  std::string_view content;
  std::vector<std::string_view> strings;
  bool more_strings = false;     // than are kept
  std::optional<double> number;  // its only element
};

std::optional<Tensor> parse_tensor(std::string_view bytes) {
  constexpr std::size_t kMostStrings = 64;
  Tensor tensor;
  ProtoField field;
  ProtoReader types(bytes);
  while (types.next(field)) {
    if (field.is(1, ProtoWire::kVarint)) tensor.type = field.value;
    if (field.is(4, ProtoWire::kBytes)) tensor.content = field.bytes;
    if (!field.is(8, ProtoWire::kBytes)) continue;
    tensor.more_strings = tensor.strings.size() == kMostStrings;
    if (!tensor.more_strings) tensor.strings.push_back(field.bytes);
  }
  if (!types.ok()) return std::nullopt;
  if (!tensor.content.empty()) tensor.number = from_content(tensor.type, tensor.content);
  const auto wanted = value_field(tensor.type);
  if (!wanted || !tensor.content.empty()) return tensor;
  std::size_t values = 0;
  ProtoReader reader(bytes);
  while (reader.next(field)) {
    if (field.number != wanted->number) continue;
    std::optional<std::uint64_t> value;
    if (field.wire == wanted->wire) value = field.value;
    if (field.wire == ProtoWire::kBytes && !field.bytes.empty())
      value = only_packed(wanted->wire, field.bytes);
    tensor.number = value ? std::optional(from_value(tensor.type, *value)) : std::nullopt;
    ++values;
  }
  if (values != 1) tensor.number.reset();
  return tensor;
}

// A google.protobuf.Value: null, number, string, bool; nothing for structures and lists.
std::optional<std::string> parse_json_value(std::string_view bytes) {
  ProtoReader reader(bytes);
  ProtoField field;
  std::optional<std::string> text;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kVarint)) text = "null";
    if (field.is(2, ProtoWire::kFixed64)) text = fmt::format("{}", field.real());
    if (field.is(3, ProtoWire::kBytes)) text = std::string(field.bytes);
    if (field.is(4, ProtoWire::kVarint)) text = field.value != 0 ? "true" : "false";
    if (field.number == 5 || field.number == 6) text.reset();
  }
  return reader.ok() ? text : std::nullopt;
}

// HParamsPluginData of the plugin "hparams"; only the start of a session has values of params.
Result<> read_hparams(std::string_view content, EventHandler& handler) {
  ProtoReader data(content);
  ProtoField field;
  while (data.next(field)) {
    if (!field.is(3, ProtoWire::kBytes)) continue;  // session_start_info
    ProtoReader start(field.bytes);
    ProtoField param;
    while (start.next(param)) {
      if (!param.is(1, ProtoWire::kBytes)) continue;  // hparams, a map
      std::string_view name;
      std::optional<std::string> value;
      ProtoReader entry(param.bytes);
      ProtoField part;
      while (entry.next(part)) {
        if (part.is(1, ProtoWire::kBytes)) name = part.bytes;
        if (part.is(2, ProtoWire::kBytes)) value = parse_json_value(part.bytes);
      }
      if (!value || name.empty()) {
        handler.leave_out("hparams without a simple value");
        continue;
      }
      TRY(handler.hparam(name, *value));
    }
  }
  return {};
}

// Plural names of what TensorBoard's plugins show.
std::string plugin_things(std::string_view plugin) {
  if (plugin == "images" || plugin == "histograms" || plugin == "graphs")
    return std::string(plugin);
  if (plugin == "audio") return "audio clips";
  if (plugin == "pr_curves") return "pr curves";
  if (plugin.empty()) return "tensors";
  return fmt::format("values of plugin {}", plugin.substr(0, 40));
}

}  // namespace

struct EventReader::Value {
  std::string_view tag, plugin, content, tensor;
  bool has_metadata = false;
  std::uint64_t data_class = 0;
  std::optional<double> simple;
  // The kind ("images") and the message of a value of the first version.
  std::string_view old_kind, old;

  // SummaryMetadata, with the PluginData that is in it.
  void read_metadata(std::string_view bytes) {
    has_metadata = true;
    ProtoReader metadata(bytes);
    ProtoField field;
    while (metadata.next(field)) {
      if (field.is(4, ProtoWire::kVarint)) data_class = field.value;
      if (field.is(1, ProtoWire::kBytes)) read_plugin(field.bytes);
    }
  }
  void read_plugin(std::string_view bytes) {
    ProtoReader data(bytes);
    ProtoField field;
    while (data.next(field)) {
      if (field.is(1, ProtoWire::kBytes)) plugin = field.bytes;
      if (field.is(2, ProtoWire::kBytes)) content = field.bytes;
    }
  }
};

namespace {

// The kind of a value of the first version, by its field; empty: another field.
std::string_view old_kind(const ProtoField& field) {
  if (field.is(3, ProtoWire::kBytes) || field.is(5, ProtoWire::kBytes)) return kHistograms;
  if (field.is(4, ProtoWire::kBytes)) return "images";
  return field.is(6, ProtoWire::kBytes) ? "audio clips" : "";
}

}  // namespace

const EventReader::Plugin& EventReader::plugin_of(const Value& value) {
  static const Plugin none;
  const auto known = plugins_.find(std::string(value.tag));
  if (known != plugins_.end()) return known->second;
  if (!value.has_metadata || plugins_.size() >= kMostTags) return none;
  Plugin plugin{.content = Content::kOther, .name = std::string(value.plugin)};
  constexpr std::uint64_t kScalarClass = 1;
  if (value.plugin == "scalars" || value.data_class == kScalarClass)
    plugin.content = Content::kScalar;
  if (value.plugin == "text") plugin.content = Content::kText;
  if (value.plugin == "hparams") plugin.content = Content::kHparams;
  if (value.plugin == "images" || value.plugin == "audio" || value.plugin == kHistograms)
    plugin.content = Content::kMedia;
  return plugins_.emplace(value.tag, std::move(plugin)).first->second;
}

Result<> EventReader::read_tensor(const Value& value, const Plugin& plugin,
                                  EventHandler& handler) const {
  if (plugin.content == Content::kMedia) return read_media(value, plugin, handler);
  const auto tensor = parse_tensor(value.tensor);
  if (!tensor) {
    handler.leave_out("malformed tensors");
    return {};
  }
  if (plugin.content == Content::kScalar && tensor->number)
    return handler.scalar(value.tag, time_, *tensor->number);
  if (plugin.content == Content::kText && tensor->type == kString) {
    std::string text;
    for (const std::string_view part : tensor->strings) {
      if (!text.empty()) text += '\n';
      text += part;
    }
    return handler.text(value.tag, time_, text);
  }
  handler.leave_out(plugin.content == Content::kScalar ? "scalars that are no single number"
                                                       : plugin_things(plugin.name));
  return {};
}

Result<> EventReader::read_value(std::string_view bytes, EventHandler& handler) {
  Value value;
  ProtoReader reader(bytes);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kBytes)) value.tag = field.bytes;
    if (field.is(2, ProtoWire::kFixed32))
      value.simple = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (const std::string_view kind = old_kind(field); !kind.empty()) {
      value.old_kind = kind;
      value.old = field.bytes;
    }
    if (field.is(8, ProtoWire::kBytes)) value.tensor = field.bytes;
    if (field.is(9, ProtoWire::kBytes)) value.read_metadata(field.bytes);
  }
  if (!reader.ok()) {
    handler.leave_out("malformed values");
    return {};
  }
  const Plugin& plugin = plugin_of(value);
  if (plugin.content == Content::kHparams) return read_hparams(value.content, handler);
  if (value.tag.empty()) {
    handler.leave_out("values without a tag");
    return {};
  }
  if (value.simple) return handler.scalar(value.tag, time_, *value.simple);
  if (!value.tensor.empty()) return read_tensor(value, plugin, handler);
  if (!value.old_kind.empty()) return read_old(value, handler);
  handler.leave_out("values without content");
  return {};
}

Result<> EventReader::give_file(std::string_view name, const EventMedium& medium,
                                EventHandler& handler) const {
  if (!medium.ending.empty()) return handler.medium(name, time_, medium);
  handler.leave_out(medium.what);
  return {};
}

Result<> EventReader::read_old(const Value& value, EventHandler& handler) const {
  std::string_view file = encoded_file(value.old);
  std::string_view ending = media_ending(file);
  std::optional<std::string> histogram;
  if (value.old_kind == kHistograms) {
    histogram = histogram_of_proto(value.old);
    file = histogram ? *histogram : std::string_view();
    ending = histogram ? kHistogramEnding : std::string_view();
  }
  return give_file(value.tag, {.what = value.old_kind, .ending = ending, .content = file}, handler);
}

// Images are strings after the width and the height; sounds are strings, each before its label;
// histograms are rows of left edge, right edge and count.
Result<> EventReader::read_media(const Value& value, const Plugin& plugin,
                                 EventHandler& handler) const {
  const std::string what = plugin_things(plugin.name);
  if (plugin.name == kHistograms) {
    const auto rows = tensor_reals(value.tensor);
    const auto file = rows ? histogram_of_rows(*rows) : std::nullopt;
    return give_file(value.tag,
                     {.what = what,
                      .ending = file ? kHistogramEnding : std::string_view(),
                      .content = file ? *file : std::string_view()},
                     handler);
  }
  const bool images = plugin.name == "images";
  const auto tensor = parse_tensor(value.tensor);
  std::vector<std::string_view> files;
  for (std::size_t i = images ? 2 : 0; tensor && i < tensor->strings.size(); i += images ? 1 : 2)
    files.push_back(tensor->strings[i]);
  if (!tensor || files.empty() || tensor->more_strings) handler.leave_out(what);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        files.size() == 1 ? std::string(value.tag) : fmt::format("{}/{}", value.tag, i);
    TRY(give_file(name, {.what = what, .ending = media_ending(files[i]), .content = files[i]},
                  handler));
  }
  return {};
}

Result<> EventReader::read(std::string_view record, EventHandler& handler) {
  time_ = {};
  std::vector<std::string_view> summaries;
  ProtoReader reader(record);
  ProtoField field;
  while (reader.next(field)) {
    if (field.is(1, ProtoWire::kFixed64)) time_.wall_time = field.real();
    if (field.is(2, ProtoWire::kVarint)) time_.step = static_cast<std::int64_t>(field.value);
    if (field.is(5, ProtoWire::kBytes)) summaries.push_back(field.bytes);
    if (field.is(4, ProtoWire::kBytes) || field.is(9, ProtoWire::kBytes))
      handler.leave_out("graphs");
    if (field.is(6, ProtoWire::kBytes)) handler.leave_out("log messages");
    if (field.is(8, ProtoWire::kBytes)) handler.leave_out("graphs");
  }
  if (!reader.ok()) {
    handler.leave_out("records that are no events");
    return {};
  }
  for (const std::string_view summary : summaries) {
    ProtoReader values(summary);
    while (values.next(field))
      if (field.is(1, ProtoWire::kBytes)) TRY(read_value(field.bytes, handler));
    if (!values.ok()) handler.leave_out("malformed values");
  }
  return {};
}

}  // namespace corral::imports
