#include "imports/interchange.h"

#include <fmt/core.h>

#include <vector>

#include "core/text.h"

namespace corral::imports {
namespace {

constexpr std::size_t kLongestLine = 64U << 20U;
const Json& of(const Json& object, const char* name) {
  static const Json nothing;
  const Json* found = object.find(name);
  return found != nullptr ? *found : nothing;
}

Error misplaced(std::string_view what) {
  return {.code = Code::kInvalidArgument,
          .message = fmt::format("the Python package gave '{}' where none belongs", what)};
}

// Both texts of ["A", "B"].
struct TextPair {
  const std::string* first = nullptr;
  const std::string* second = nullptr;
};
TextPair pair_of(const Json& value) {
  const Json::Array* both = value.as_array();
  if (both == nullptr || both->size() != 2) return {};
  return {(*both)[0].as_string(), (*both)[1].as_string()};
}

}  // namespace

Result<> Interchange::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    bytes_.append(bytes.substr(0, end));
    if (bytes_.size() > kLongestLine)
      return fail(Code::kTooLarge, "the Python package gave a line of more than 64 MiB");
    if (end == std::string_view::npos) return {};
    TRY(line(bytes_));
    bytes_.clear();
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<> Interchange::finish() {
  if (bytes_.empty() && !sink_ && !table_) return {};
  return fail(Code::kUnavailable, "the Python package ended before its last run did");
}

Result<> Interchange::line(std::string_view text) {
  const auto json = Json::parse(text);
  const Json::Object* object = json ? json->as_object() : nullptr;
  if (object == nullptr || object->size() != 1)
    return fail(Code::kInvalidArgument,
                fmt::format("the Python package gave a line that is none of its own: {}",
                            printable(text.substr(0, 80))));
  return member(object->begin()->first, object->begin()->second);
}

Result<> Interchange::member(const std::string& name, const Json& value) {
  const std::string* text = value.as_string();
  if (name == "error" && text != nullptr) return fail(Code::kUnsupported, *text);
  if (name == "run") return begin_run(value);
  if (name == "table") return begin_table(value);
  if (name == "rows" && table_) return rows(value);
  if (name == "end_table" && table_) return end_table();
  if (name == "part" && sink_ && text != nullptr) {
    in_part_ = true;
    return sink_->part(*text);
  }
  if (name == "points" && in_part_) return points(value);
  if (name == "event" && in_part_) return event(value);
  if (name == "end" && sink_) return end_run(value);
  return note(name, value);
}

// Members that need no order.
Result<> Interchange::note(const std::string& name, const Json& value) {
  if (const std::string* text = value.as_string(); name == "note" && text != nullptr) {
    importer_.note(*text);
    return {};
  }
  const auto [first, second] = pair_of(value);
  if ((name == "param" || name == "tag") && sink_ && first != nullptr && second != nullptr) {
    name == "param" ? sink_->param(*first, *second) : sink_->tag(*first, *second);
    return {};
  }
  const Json::Array* list = value.as_array();
  const std::int64_t* last = list != nullptr && list->size() == 2 ? list->back().as_int() : nullptr;
  if (name == "left_out" && first != nullptr && last != nullptr) {
    importer_.leave_out(*first, static_cast<std::uint64_t>(*last));
    return {};
  }
  const std::int64_t* done = last != nullptr ? list->front().as_int() : nullptr;
  if (name == "progress" && done != nullptr) return importer_.at("importing", *done, *last);
  return tl::unexpected(misplaced(name.substr(0, 40)));
}

Result<> Interchange::end_table() {
  auto finished = table_->finish("");
  table_.reset();
  return finished;
}

Result<> Interchange::begin_run(const Json& run) {
  const std::string identity = run.get_string("identity");
  if (sink_ || table_ || identity.empty()) return tl::unexpected(misplaced("run"));
  if (!options_.name.empty() && runs_ > 0)
    return fail(Code::kInvalidArgument,
                "--name is for one run, and there are several: leave it out");
  ++runs_;
  const std::string experiment = run.get_string("experiment");
  sink_ = TRY(
      importer_.begin({.identity = identity,
                       .name = options_.name.empty() ? run.get_string("name") : options_.name,
                       .experiment = options_.experiment.empty() ? experiment : options_.experiment,
                       .start = utc_time(run.get_int("start_ns"))}));
  return {};
}

Result<> Interchange::end_run(const Json& end) {
  const auto sink = std::move(sink_);
  in_part_ = false;
  return sink->finish({.start = {},
                       .end = utc_time(end.get_int("end_ns")),
                       .exit_code = {},
                       .running = end.get_bool("running")});
}

Result<> Interchange::points(const Json& points) {
  const std::string metric = points.get_string("metric");
  const std::string source = points.get_string("source");
  const Json::Array* times = of(points, "times_ns").as_array();
  const Json::Array* steps = of(points, "steps").as_array();
  const Json::Array* values = of(points, "values").as_array();
  if (metric.empty() || times == nullptr || steps == nullptr || values == nullptr ||
      times->size() != values->size() || steps->size() != values->size())
    return tl::unexpected(misplaced("points"));
  for (std::size_t i = 0; i < values->size(); ++i) {
    const Json& value = (*values)[i];
    const std::string* text = value.as_string();
    const auto number = text != nullptr ? number_of(*text) : std::optional(value.as_double(0));
    const bool is_number = text != nullptr || value.is_double() || value.as_int() != nullptr;
    const std::int64_t* time = (*times)[i].as_int();
    const std::int64_t* step = (*steps)[i].as_int();
    if (!is_number || !number || time == nullptr) return tl::unexpected(misplaced("points"));
    TRY(sink_->point({.metric = metric,
                      .source = source,
                      .step = step != nullptr ? std::optional(*step) : std::nullopt,
                      .time = utc_time(*time),
                      .value = *number}));
  }
  return {};
}

Result<> Interchange::event(const Json& event) {
  const std::string name = event.get_string("name");
  const Json::Object* attributes = of(event, "attributes").as_object();
  if (name.empty() || attributes == nullptr) return tl::unexpected(misplaced("event"));
  TextEvent text{.time = utc_time(event.get_int("time_ns")), .name = name, .attributes = {}};
  for (const auto& [key, value] : *attributes)
    if (value.as_string() != nullptr) text.attributes.emplace_back(key, *value.as_string());
  return sink_->event(text);
}

Result<> Interchange::begin_table(const Json& table) {
  const std::string identity = table.get_string("identity");
  if (sink_ || table_ || identity.empty()) return tl::unexpected(misplaced("table"));
  rows_ = 0;
  const auto identity_of = [identity](const std::string& run) {
    return Result<std::string>(fmt::format("{} {}", identity, run));
  };
  table_.emplace(options_, table.get_string("name"), identity_of, importer_);
  return {};
}

Result<> Interchange::rows(const Json& rows) {
  const Json::Array* list = rows.as_array();
  if (list == nullptr) return tl::unexpected(misplaced("rows"));
  std::vector<plan::CsvCell> cells;
  for (const Json& row : *list) {
    const Json::Array* texts = row.as_array();
    if (texts == nullptr || texts->empty()) return tl::unexpected(misplaced("rows"));
    cells.resize(texts->size());
    for (std::size_t i = 0; i < texts->size(); ++i) {
      const std::string* text = (*texts)[i].as_string();
      if (text == nullptr) return tl::unexpected(misplaced("rows"));
      cells[i].value = *text;
    }
    TRY(table_->row({.line = rows_++, .cells = cells, .text = {}, .end = 0}));
  }
  return {};
}

}  // namespace corral::imports
