#include "run/supervisor_order.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/cpu_list.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::run {
namespace {

constexpr std::int64_t kVersion = 1;
// A command line has at most a few MiB; everything else is smaller.
constexpr std::size_t kMostBytes = 64u << 20;

// ---- writing

Json to_json(const std::string& text) {
  if (is_utf8(text)) return text;
  Json::Array bytes;
  bytes.reserve(text.size());
  for (const char c : text) bytes.emplace_back(std::int64_t{static_cast<unsigned char>(c)});
  return bytes;
}
Json to_json(const sys::fs::path& path) { return to_json(path.string()); }
Json to_json(int number) { return number; }
Json to_json(std::int64_t number) { return number; }
Json to_json(bool value) { return value; }
Json to_json(Nanos duration) { return std::int64_t{duration.count()}; }
Json to_json(const std::pair<std::string, std::string>& pair) {
  return Json::Array{to_json(pair.first), to_json(pair.second)};
}
template <class T>
Json to_json(const std::vector<T>& list) {
  Json::Array array;
  array.reserve(list.size());
  for (const T& each : list) array.push_back(to_json(each));
  return array;
}

// ---- reading: false where the value has another type

bool from_json(const Json& json, std::string& text) {
  if (const std::string* plain = json.as_string()) {
    text = *plain;
    return true;
  }
  const Json::Array* bytes = json.as_array();
  if (bytes == nullptr) return false;
  text.clear();
  for (const Json& byte : *bytes) {
    const std::int64_t* number = byte.as_int();
    if (number == nullptr || *number < 0 || *number > 255) return false;
    text += static_cast<char>(*number);
  }
  return true;
}
bool from_json(const Json& json, sys::fs::path& path) {
  std::string text;
  const bool read = from_json(json, text);
  path = text;
  return read;
}
bool from_json(const Json& json, std::int64_t& number) {
  const std::int64_t* found = json.as_int();
  if (found != nullptr) number = *found;
  return found != nullptr;
}
bool from_json(const Json& json, int& number) {
  const std::int64_t* found = json.as_int();
  if (found == nullptr || *found < -1 || *found > std::numeric_limits<int>::max()) return false;
  number = static_cast<int>(*found);
  return true;
}
bool from_json(const Json& json, bool& value) {
  const bool* found = json.as_bool();
  if (found != nullptr) value = *found;
  return found != nullptr;
}
bool from_json(const Json& json, Nanos& duration) {
  const std::int64_t* found = json.as_int();
  if (found != nullptr) duration = Nanos(*found);
  return found != nullptr && *found >= 0;
}
bool from_json(const Json& json, std::pair<std::string, std::string>& pair) {
  const Json::Array* both = json.as_array();
  return both != nullptr && both->size() == 2 && from_json((*both)[0], pair.first) &&
         from_json((*both)[1], pair.second);
}
template <class T>
bool from_json(const Json& json, std::vector<T>& list) {
  const Json::Array* array = json.as_array();
  if (array == nullptr) return false;
  list.clear();
  for (const Json& each : *array) {
    T value{};
    if (!from_json(each, value)) return false;
    list.push_back(std::move(value));
  }
  return true;
}

// True for text that no command line, variable or path can hold.
template <class T>
bool holds_nul(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value.find('\0') != std::string::npos;
  } else if constexpr (std::is_same_v<T, sys::fs::path>) {
    return holds_nul(value.string());
  } else if constexpr (std::is_same_v<T, std::pair<std::string, std::string>>) {
    return holds_nul(value.first) || holds_nul(value.second);
  } else if constexpr (requires { value.begin(); }) {
    return std::ranges::any_of(value, [](const auto& each) { return holds_nul(each); });
  } else {
    return false;
  }
}

// Calls visit(key, field) for every member of the document but `version`, `gate` and `settings`.
template <class Order, class Visit>
void for_each_member(Order& order, Visit visit) {
  visit("run", order.run);
  visit("adopt", order.adopt);
  visit("experiment", order.experiment);
  visit("workload", order.workload);
  visit("name", order.name);
  visit("directory", order.directory);
  visit("environment", order.environment);
  visit("pass", order.passed);
  visit("params", order.params);
  visit("tags", order.tags);
  visit("groups", order.placement.groups);
  visit("cpus", order.placement.cpus);
  visit("command", order.command);
}

template <class Gate, class Visit>
void for_each_gate_member(Gate& gate, Visit visit) {
  visit("release", gate.release);
  visit("reports", gate.reports);
  visit("last_word", gate.last_word);
}

// Reads members of one object and notes the first one with an invalid value.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  template <class T>
  void read(const char* key, T& value) {
    const Json* found = object_.find(key);
    if (found == nullptr || !wrong_.empty()) return;
    if (!from_json(*found, value))
      wrong_ = fmt::format("invalid value of '{}'", key);
    else if (holds_nul(value))
      wrong_ = fmt::format("invalid value of '{}': a NUL byte", key);
  }
  template <class T>
  void read(const char* key, std::optional<T>& value) {
    if (object_.find(key) != nullptr) read(key, value.emplace());
  }
  [[nodiscard]] Result<> result() const {
    if (wrong_.empty()) return {};
    return fail(Code::kInvalidArgument, wrong_);
  }

 private:
  const Json& object_;
  std::string wrong_;  // a message
};

// Values that the flags of the same meaning would refuse, and that nothing checks later.
Result<> check(const RunSettings& settings) {
  const std::string leftovers = settings.leftovers.value_or("leave");
  if (leftovers != "leave" && leftovers != "wait")
    return fail(
        Code::kInvalidArgument,
        fmt::format("invalid value of 'leftovers': expected leave or wait, found '{}'", leftovers));
  for (const auto& [key, bytes] :
       {std::pair{"spool_limit", settings.spool_limit}, {"keep_code", settings.keep_code}})
    if (bytes.value_or(0) < 0)
      return fail(
          Code::kInvalidArgument,
          fmt::format("invalid value of '{}': expected a number of bytes, found {}", key, *bytes));
  return {};
}

Result<> check(const SupervisorOrder& order) {
  if (!RunId::parse(order.run)) return fail(Code::kInvalidArgument, "'run' is not the id of a run");
  if (order.adopt != order.command.empty())
    return fail(Code::kInvalidArgument,
                order.adopt ? "an adopted run has no 'command'" : "missing 'command'");
  for (const int fd : {order.gate.release, order.gate.reports})
    if (fd >= 0 && ::fcntl(fd, F_GETFD) < 0)
      return fail(Code::kInvalidArgument, "'gate' names a descriptor that is not open");
  for (const int cpu : order.placement.cpus)
    if (cpu < 0 || cpu >= kMostCpus)
      return fail(Code::kInvalidArgument,
                  fmt::format("invalid value of 'cpus': expected numbers below {}, found {}",
                              kMostCpus, cpu));
  for (const sys::fs::path& group : order.placement.groups)
    if (!group.is_absolute()) return fail(Code::kInvalidArgument, "invalid value of 'groups'");
  return check(order.settings);
}

}  // namespace

std::string dump_order(const SupervisorOrder& order) {
  Json::Object document{{"version", kVersion}};
  for_each_member(order, [&](const char* key, const auto& value) {
    document.emplace_back(key, to_json(value));
  });
  Json::Object gate;
  for_each_gate_member(order.gate, [&](const char* key, const auto& value) {
    gate.emplace_back(key, to_json(value));
  });
  document.emplace_back("gate", std::move(gate));
  Json::Object settings;
  for_each_setting(order.settings, [&](const char* key, const char*, const auto& value) {
    if (value) settings.emplace_back(key, to_json(*value));
  });
  document.emplace_back("settings", std::move(settings));
  return Json(std::move(document)).dump();
}

Result<SupervisorOrder> parse_order(std::string_view text) {
  const Json document = TRY(Json::parse(text));
  const Json* version = document.find("version");
  if (version == nullptr || version->as_int() == nullptr)
    return fail(Code::kInvalidArgument, "missing 'version'");
  if (*version->as_int() != kVersion)
    return fail(Code::kUnsupported,
                fmt::format("unsupported version {}; expected {}", *version->as_int(), kVersion));
  SupervisorOrder order;
  Members members(document);
  for_each_member(order, [&](const char* key, auto& value) { members.read(key, value); });
  TRY(members.result());
  const Json none{Json::Object{}};
  const auto object = [&](const char* key) -> const Json& {
    const Json* found = document.find(key);
    return found != nullptr ? *found : none;
  };
  for (const char* key : {"gate", "settings"})
    if (object(key).as_object() == nullptr)
      return fail(Code::kInvalidArgument, fmt::format("invalid value of '{}'", key));
  Members gate(object("gate"));
  for_each_gate_member(order.gate, [&](const char* key, auto& value) { gate.read(key, value); });
  TRY(gate.result());
  Members settings(object("settings"));
  for_each_setting(order.settings,
                   [&](const char* key, const char*, auto& value) { settings.read(key, value); });
  TRY(settings.result());
  TRY(check(order));
  return order;
}

Result<SupervisorOrder> read_order(int descriptor) {
  // These three are the command's, and closing one would give its number to another file.
  if (descriptor >= 0 && descriptor <= STDERR_FILENO)
    return fail(Code::kInvalidArgument, "expected a descriptor above 2");
  if (descriptor < 0 || ::fcntl(descriptor, F_GETFD) < 0)
    return fail(Code::kInvalidArgument, fmt::format("descriptor {} is not open", descriptor));
  const sys::Fd file(descriptor);
  return parse_order(TRY(sys::read_all(file, "order", kMostBytes)));
}

}  // namespace corral::run
