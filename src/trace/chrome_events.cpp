#include "trace/chrome_events.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/text.h"

namespace corral::trace {
namespace {

namespace ondemand = simdjson::ondemand;

// Members beside the events are short; longer ones are none that count.
constexpr std::size_t kMostMemberBytes = 1U << 20U;

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number: its digits, and how many of them lie before the point.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t whole = 0;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  constexpr std::int64_t kMostExponent = 1000;
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  const auto take_digits = [&] {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    decimal.digits += text.substr(0, count);
    text.remove_prefix(count);
    return count;
  };
  decimal.whole = static_cast<std::int64_t>(take_digits());
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    take_digits();
  }
  if (decimal.digits.empty()) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto exponent = parse_int(text);
    if (!exponent || *exponent > kMostExponent || *exponent < -kMostExponent) return std::nullopt;
    decimal.whole += *exponent;
    text = {};
  }
  return text.empty() ? std::optional(std::move(decimal)) : std::nullopt;
}

// Text of a number or a string, without its quotes.
bool get_plain(ondemand::value& value, std::string_view& text) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type == ondemand::json_type::string) return value.get_string().get(text) == simdjson::SUCCESS;
  text = {};
  if (type == ondemand::json_type::number) text = trim(value.raw_json_token());
  return true;
}

bool get_micros(ondemand::value& value, std::optional<std::int64_t>& ns) {
  std::string_view text;
  if (!get_plain(value, text)) return false;
  ns = parse_micros(text);
  return true;
}

bool get_integer(ondemand::value& value, std::optional<std::int64_t>& number) {
  std::string_view text;
  if (!get_plain(value, text)) return false;
  number = parse_int(text);
  return true;
}

// Calls each(key, value) for the members of an object; returns false at the first error.
template <class Each>
bool each_member(ondemand::value& value, Each each) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto one : object) {
    ondemand::field field;
    std::string_view key;
    if (std::move(one).get(field) != simdjson::SUCCESS) return false;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (!each(key, field.value())) return false;
  }
  return true;
}

bool is_object(ondemand::value& value) {
  ondemand::json_type type{};
  return value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::object;
}

bool read_args(ondemand::value& args, ChromeEvent& event) {
  if (!is_object(args)) return true;
  return each_member(args, [&](std::string_view key, ondemand::value& value) {
    if (key == "name") return get_plain(value, event.label);
    if (key == "device") return get_integer(value, event.device);
    if (key == "stream") return get_integer(value, event.stream);
    if (key == "correlation") return get_integer(value, event.correlation);
    return true;
  });
}

// `id2` names its scope: {"local": "0x1"}.
bool read_id(ondemand::value& id, ChromeEvent& event) {
  if (!is_object(id)) return get_plain(id, event.id);
  return each_member(
      id, [&](std::string_view, ondemand::value& value) { return get_plain(value, event.id); });
}

bool read_event_member(std::string_view key, ondemand::value& value, ChromeEvent& event) {
  if (key == "name") return get_plain(value, event.name);
  if (key == "cat") return get_plain(value, event.category);
  if (key == "pid") return get_plain(value, event.process);
  if (key == "tid") return get_plain(value, event.thread);
  if (key == "ts") return get_micros(value, event.time_ns);
  if (key == "dur") return get_micros(value, event.length_ns);
  if (key == "id" || key == "id2") return read_id(value, event);
  if (key == "args") return read_args(value, event);
  if (key != "ph") return true;
  std::string_view phase;
  if (!get_plain(value, phase)) return false;
  event.phase = phase.size() == 1 ? phase.front() : '\0';
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_micros(std::string_view text) {
  auto decimal = parse_decimal(text);
  if (!decimal) return std::nullopt;
  const std::int64_t digits = decimal->whole + 3;  // before the point, in ns
  std::int64_t ns = 0;
  for (std::int64_t i = 0; i < digits; ++i) {
    const bool given = i < static_cast<std::int64_t>(decimal->digits.size());
    const int digit = given ? decimal->digits[static_cast<std::size_t>(i)] - '0' : 0;
    if (!given && ns == 0) break;
    if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, digit, &ns))
      return std::nullopt;
  }
  const bool rounds_up = digits >= 0 &&
                         digits < static_cast<std::int64_t>(decimal->digits.size()) &&
                         decimal->digits[static_cast<std::size_t>(digits)] >= '5';
  if (rounds_up && __builtin_add_overflow(ns, 1, &ns)) return std::nullopt;
  return decimal->negative ? -ns : ns;
}

class ChromeEvents::Parser {
 public:
  // False: the text is no object, or malformed.
  bool parse(std::string& text, ChromeEvent& event) {
    const std::size_t size = text.size();
    text.append(simdjson::SIMDJSON_PADDING, ' ');
    ondemand::document document;
    ondemand::value root;
    const bool good =
        parser_.iterate(text.data(), size, text.size()).get(document) == simdjson::SUCCESS &&
        document.get_value().get(root) == simdjson::SUCCESS &&
        each_member(root, [&](std::string_view key, ondemand::value& value) {
          return read_event_member(key, value, event);
        });
    if (!good) text.resize(size);
    return good;
  }

 private:
  ondemand::parser parser_;
};

ChromeEvents::ChromeEvents(Take take)
    : take_(std::move(take)), parser_(std::make_unique<Parser>()) {}
ChromeEvents::~ChromeEvents() = default;

tl::unexpected<Error> ChromeEvents::unexpected_here(std::string_view wanted) const {
  return fail(Code::kInvalidArgument,
              fmt::format("malformed JSON at byte {}: expected {}", offset_, wanted));
}

Result<> ChromeEvents::read(std::string_view piece) {
  while (!piece.empty()) {
    if (collecting_) {
      const std::size_t taken = collect(piece);
      piece.remove_prefix(taken);
      offset_ += taken;
      if (value_.size() > kMostEventBytes && next_ == Next::kElement) {
        return fail(Code::kTooLarge, fmt::format("the event at byte {} is longer than {} MiB",
                                                 value_at_, kMostEventBytes >> 20U));
      }
      if (complete_) TRY(collected());
      continue;
    }
    if (!is_json_space(piece.front())) {
      TRY(step(piece.front()));
      if (collecting_) continue;  // this byte is the value's first
    }
    piece.remove_prefix(1);
    ++offset_;
  }
  return {};
}

Result<> ChromeEvents::step(char c) {
  switch (next_) {
    case Next::kRoot:
      if (c != '{' && c != '[') return unexpected_here("an object or an array");
      in_object_ = c == '{';
      has_events_ = !in_object_;
      next_ = in_object_ ? Next::kKey : Next::kElement;
      return {};
    case Next::kKey:
      if (c == '}' && first_) {
        next_ = Next::kNothing;
        return {};
      }
      if (c != '"') return unexpected_here("a member's name");
      collect_from_here();
      return {};
    case Next::kColon:
      if (c != ':') return unexpected_here("':'");
      next_ = Next::kMember;
      return {};
    case Next::kMember:
      if (key_ == "\"traceEvents\"" && c == '[') {
        has_events_ = first_ = true;
        next_ = Next::kElement;
        return {};
      }
      collect_from_here();
      return {};
    case Next::kAfterMember:
      return after_value(c, '}', Next::kKey);
    case Next::kElement:
      // A bare array may end with a comma, as its writers may be killed.
      if (c == ']' && (first_ || !in_object_)) return after_value(c, ']', Next::kElement);
      if (c != '{') return unexpected_here("an event");
      collect_from_here();
      return {};
    case Next::kAfterElement:
      return after_value(c, ']', Next::kElement);
    case Next::kNothing:
      return unexpected_here("the end");
  }
  return {};
}

Result<> ChromeEvents::after_value(char c, char closing, Next next) {
  first_ = false;
  if (c == ',') {
    next_ = next;
    return {};
  }
  if (c != closing) return unexpected_here(fmt::format("',' or '{}'", closing));
  next_ = closing == ']' && in_object_ ? Next::kAfterMember : Next::kNothing;
  return {};
}

void ChromeEvents::collect_from_here() {
  collecting_ = true;
  complete_ = in_string_ = escaped_ = false;
  depth_ = 0;
  value_at_ = offset_;
  value_.clear();
}

// Takes bytes of the value up to its end, which sets complete_; returns their number.
std::size_t ChromeEvents::collect(std::string_view rest) {
  std::size_t at = 0;
  for (; at < rest.size() && !complete_; ++at) {
    const char c = rest[at];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        complete_ = depth_ == 0;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']' || (depth_ == 0 && (c == ',' || is_json_space(c)))) {
      if (depth_ == 0) {  // after a number or a word
        complete_ = true;
        break;
      }
      complete_ = --depth_ == 0;
    }
  }
  const std::size_t most = next_ == Next::kElement ? kMostEventBytes + 1 : kMostMemberBytes + 1;
  value_ += rest.substr(0, std::min(at, most - std::min(most, value_.size())));
  return at;
}

Result<> ChromeEvents::collected() {
  collecting_ = false;
  if (next_ == Next::kKey) {
    key_ = value_;
    next_ = Next::kColon;
    return {};
  }
  if (next_ == Next::kMember) {
    next_ = Next::kAfterMember;
    return take_member();
  }
  next_ = Next::kAfterElement;
  ChromeEvent event;
  if (!parser_->parse(value_, event)) {
    return fail(Code::kInvalidArgument,
                fmt::format("malformed JSON at byte {}: in the event that begins at byte {}",
                            value_at_ + json_error_position(value_), value_at_));
  }
  take_(event);
  return {};
}

Result<> ChromeEvents::take_member() {
  if (value_.empty()) return unexpected_here("a value");
  if (key_ == "\"schemaVersion\"") header_.kineto = true;
  if (key_ == "\"baseTimeNanoseconds\"") {
    const auto base = parse_int(value_);
    if (!base) return unexpected_here("a whole number as baseTimeNanoseconds before it");
    header_.base_ns = *base;
  }
  if (key_ == "\"distributedInfo\"" && value_.size() <= kMostMemberBytes) {
    const auto info = Json::parse(value_);
    const Json* rank = info ? info->find("rank") : nullptr;
    if (rank != nullptr && rank->as_int() != nullptr && *rank->as_int() >= 0)
      header_.rank = *rank->as_int();
  }
  return {};
}

Result<ChromeHeader> ChromeEvents::finish() {
  const bool between = next_ == Next::kElement || next_ == Next::kAfterElement;
  if (!in_object_ && has_events_ && between && !collecting_) {
    header_.closed = false;
    return header_;
  }
  if (next_ != Next::kNothing) {
    return fail(Code::kInvalidArgument,
                fmt::format("malformed JSON at byte {}: the text ends too early", offset_));
  }
  if (!has_events_) return fail(Code::kInvalidArgument, "no trace: it has no 'traceEvents'");
  return header_;
}

}  // namespace corral::trace
