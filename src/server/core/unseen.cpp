#include "server/core/unseen.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "server/core/artifacts.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "store/tables/spaces.h"

namespace corral::server {
namespace {

namespace accounts = store::accounts;
namespace files = store::artifacts;

constexpr std::size_t kIdDigits = 32;
// Members that hold what people and scripts keep.
constexpr std::array<std::string_view, 4> kTexts = {"value", "text", "description", "tags"};
constexpr std::array<std::string_view, 2> kExperiments = {"experiment_id", "experiment_ids"};
constexpr std::array<std::string_view, 2> kNames = {"name", "new_name"};
// Clients may give traces any ids.
constexpr std::array<std::string_view, 4> kTraces = {"trace_id", "trace_ids", "request_id",
                                                     "request_ids"};
constexpr std::string_view kSessions = "/api/corral/v1/sessions/";
constexpr std::string_view kTracePath = "/mlflow/traces/";
constexpr std::array<std::string_view, 6> kTraceCalls = {
    "search", "get", "batchGet", "batchGetInfos", "delete-traces", "link-to-run"};
constexpr std::string_view kModelScheme = "models:/";
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // at the start of a text, of its encoding
// Headers of spans.
constexpr std::string_view kExperimentHeader = "x-mlflow-experiment-id";
constexpr std::string_view kRunHeader = "x-mlflow-run-id";

constexpr bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// All that a request names.
struct Named {
  std::set<std::string, std::less<>> ids;
  std::set<std::int64_t> experiments;
  std::vector<std::pair<std::string, char>> names;  // each with what ends a space in it

  // The ids in a text: 32 digits, with a "m-" or "tr-" before them.
  void add_ids(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_hex(text[end])) ++end;
      if (end - at == kIdDigits) {
        const std::string_view before = text.substr(0, at);
        std::string id(text.substr(at, kIdDigits));
        for (const std::string_view kind : {"m-", "tr-"})
          if (before.ends_with(kind)) id.insert(0, kind);
        ids.insert(std::move(id));
      }
      at = end + 1;
    }
  }
  void add_experiment(const Json& value) {
    const std::string* text = value.as_string();
    if (const std::int64_t* number = value.as_int()) experiments.insert(*number);
    if (const auto number = text == nullptr ? std::nullopt : parse_int(*text))
      experiments.insert(*number);
  }
  void add_text(std::string_view member, const std::string& text) {
    add_ids(text);
    if (is_among(member, kTraces)) ids.insert(text);
    if (!text.starts_with(kModelScheme)) return;
    const std::string_view rest = std::string_view(text).substr(kModelScheme.size());
    names.emplace_back(rest.substr(0, rest.find_first_of("/@")), '.');
  }
  void add(std::string_view member, const Json& value) {
    if (is_among(member, kTexts)) return;
    if (is_among(member, kExperiments)) add_experiment(value);
    if (const std::string* text = value.as_string()) add_text(member, *text);
    if (const Json::Array* items = value.as_array())
      for (const Json& item : *items) add(member, item);
    if (const Json::Object* members = value.as_object())
      for (const auto& [name, one] : *members) add(name, one);
  }
  [[nodiscard]] bool empty() const { return ids.empty() && experiments.empty(); }
};

Result<> check_hidden(const store::Reader& reader, const Named& named) {
  if (named.empty()) return {};
  return reader.inspect([&](store::Reading& reading) -> Result<> {
    for (const std::string& id : named.ids) {
      if (TRY(accounts::is_hidden_id(reading, id)))
        return fail(Code::kNotFound, fmt::format("there is nothing with the id {}", id));
    }
    for (const std::int64_t id : named.experiments) {
      if (TRY(accounts::is_hidden(reading, ExperimentId{id})))
        return fail(Code::kNotFound, fmt::format("no experiment {}", id));
    }
    return {};
  });
}

// One that is nowhere yet may be hidden in a moment.
Result<> keep_seen(const Context& context, const Named& named) {
  if (named.ids.empty()) return {};
  return context.reader.inspect([&](store::Reading& reading) -> Result<> {
    for (const std::string& id : named.ids)
      if (TRY(accounts::is_seen_id(reading, id)))
        context.seen_ids->add(context.reader.access(), id);
    return {};
  });
}

// kInvalidArgument for JSON that cannot be read, whatever its handler makes of it.
Result<> add_body(const Request& request, Named& named) {
  if (!reads_json(request)) return {};
  std::string_view body = request.body;
  while (body.starts_with(kMark)) body.remove_prefix(kMark.size());
  if (trim(body).empty()) return {};
  Json json = TRY(Json::parse(body));
  // MLflow's interface takes JSON that is encoded twice.
  if (const std::string* inner = json.as_string()) json = TRY(Json::parse(std::string(*inner)));
  named.add("", json);
  if (!door::owns(request.path)) return {};
  const bool model = request.path.find("/registered-models/") != std::string::npos ||
                     request.path.find("/model-versions/") != std::string::npos;
  for (const std::string_view member : kNames)
    if (const Json* name = json.find(member); name != nullptr && name->as_string() != nullptr)
      named.names.emplace_back(*name->as_string(), model ? '.' : '/');
  return {};
}

// The path of what is named in a route "…/boards/{name}", else empty.
std::string saved_name(std::string_view path) {
  for (const std::string_view kind : {"boards", "lists", "reports"}) {
    Pairs params;
    const std::string pattern = fmt::format("/api/corral/v1/{}/{{name}}", kind);
    if (match(pattern, path, params).value_or(false)) return params.front().second;
  }
  return "";
}

// The number in "/api/corral/v1/experiments/{number}/…", if it is one.
std::optional<std::int64_t> experiment_in(std::string_view path) {
  constexpr std::string_view kBefore = "/api/corral/v1/experiments/";
  if (!path.starts_with(kBefore)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  return parse_int(path.substr(0, path.find('/')));
}

// The id in "…/mlflow/traces/{id}/…", if there is one. A trace may be called as a call is.
std::string_view trace_in(std::string_view path) {
  const std::size_t at = path.find(kTracePath);
  if (at == std::string_view::npos) return {};
  path.remove_prefix(at + kTracePath.size());
  const std::string_view id = path.substr(0, path.find('/'));
  return is_among(id, kTraceCalls) ? std::string_view() : id;
}

// ---- files
class SeenArtifacts final : public files::ArtifactStore {
 public:
  SeenArtifacts(files::ArtifactStore& all, store::Reader reader)
      : all_(all), reader_(std::move(reader)) {}

  [[nodiscard]] std::string location() const override { return all_.location(); }
  Result<std::vector<files::Entry>> list(std::string_view path) override {
    if (!check(path)) return std::vector<files::Entry>();
    auto entries = TRY(all_.list(path));
    std::erase_if(entries, [&](const files::Entry& entry) {
      return !check(below(path, entry.name)).has_value();
    });
    return entries;
  }
  Result<std::unique_ptr<files::Reader>> open(std::string_view path) override {
    TRY(check(path));
    return all_.open(path);
  }
  Result<std::unique_ptr<files::Writer>> create(std::string_view path,
                                                std::optional<std::uint64_t> size) override {
    TRY(check(path));
    return all_.create(path, size);
  }
  // A directory goes only with the run or model that it belongs to: hidden files may lie in others.
  Result<> remove(std::string_view path) override {
    TRY(check(path));
    Named named;
    named.add_ids(path);
    const bool whole = !named.ids.empty() || all_.open(path) || TRY(all_.list(path)).empty();
    const auto places = TRY(hidden_places());
    if (whole && std::ranges::none_of(
                     places, [&](const std::string& place) { return is_below(place, path); }))
      return all_.remove(path);
    return fail(Code::kPermission, fmt::format("'{}' may hold files in spaces that you are no "
                                               "member of",
                                               to_utf8(path)));
  }
  Result<files::MultipartUpload> create_multipart(std::string_view path, int parts) override {
    TRY(check(path));
    return all_.create_multipart(path, parts);
  }
  Result<> complete_multipart(std::string_view path, std::string_view upload,
                              std::span<const files::UploadedPart> parts) override {
    TRY(check(path));
    return all_.complete_multipart(path, upload, parts);
  }
  Result<> abort_multipart(std::string_view path, std::string_view upload) override {
    TRY(check(path));
    return all_.abort_multipart(path, upload);
  }

 private:
  static std::string below(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
  }
  // It is below the place of a run, model or trace that is seen, and of none that is not.
  [[nodiscard]] Result<bool> belongs_to_seen(std::string_view path) const {
    Named named;
    named.add_ids(path);
    TRY(check_hidden(reader_, named));
    return in_snapshot(reader_, [&](store::Reading& reading) -> Result<bool> {
      for (const std::string& id : named.ids)
        if (TRY(accounts::is_seen_id(reading, id))) return true;
      return false;
    });
  }
  // kNotFound. The default places begin with the number of their experiment.
  [[nodiscard]] Result<> check(std::string_view path) const {
    if (TRY(belongs_to_seen(path))) return {};
    Named named;
    if (const auto number = parse_int(path.substr(0, path.find('/'))))
      named.experiments.insert(*number);
    TRY(check_hidden(reader_, named));
    const auto places = TRY(hidden_places());
    if (std::ranges::none_of(places,
                             [&](const std::string& place) { return is_below(path, place); }))
      return {};
    return fail(Code::kNotFound, fmt::format("there is no file '{}'", to_utf8(path)));
  }
  static bool is_below(std::string_view path, std::string_view place) {
    return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
  }
  // Paths of hidden experiments that do not have the default place.
  [[nodiscard]] Result<std::vector<std::string>> hidden_places() const {
    std::vector<std::string> places;
    const auto locations = TRY(in_snapshot(reader_, accounts::hidden_locations));
    for (const std::string& location : locations) {
      auto place = path_in_store(all_, location, "");
      if (place && !place->empty()) places.push_back(*std::move(place));
    }
    return places;
  }

  files::ArtifactStore& all_;
  const store::Reader reader_;
};

}  // namespace

Result<> check_name(const store::Access& access, std::string_view name, char separator) {
  const std::string_view space = access.hidden_space_of(name, separator);
  if (space.empty()) return {};
  return fail(Code::kPermission,
              fmt::format("the space '{}' is for its members: an admin lets you in by `corral "
                          "space set {} --add NAME`",
                          space, space));
}

Result<> check_ids(const store::Reader& reader, const std::vector<std::string>& ids) {
  if (reader.access().sees_all()) return {};
  Named named;
  named.ids.insert(ids.begin(), ids.end());
  return check_hidden(reader, named);
}

Result<bool> sees_id(const store::Reader& reader, const std::string& id) {
  return in_snapshot(reader,
                     [&](store::Reading& reading) { return accounts::is_seen_id(reading, id); });
}

Result<> check_names(const Request& request, const Context& context) {
  const store::Access& access = context.reader.access();
  if (access.sees_all()) return {};
  Named named;
  const std::string path = percent_decode(request.path).value_or(request.path);
  // The answer about a session that is not known tells nothing.
  if (!path.starts_with(kSessions)) named.add_ids(path);
  if (const std::string_view trace = trace_in(path); !trace.empty()) named.ids.emplace(trace);
  named.names.emplace_back(saved_name(request.path), '/');
  if (const auto number = experiment_in(path)) named.experiments.insert(*number);
  if (role_for(request) > Role::kReader) {
    for (const auto& [name, value] : request.query) named.add(name, Json(value));
    named.add(kExperiments[0], Json(std::string(request.header(kExperimentHeader))));
    named.add_ids(request.header(kRunHeader));
    TRY(add_body(request, named));
  }
  for (const auto& [name, separator] : named.names) TRY(check_name(access, name, separator));
  // A run is logged to again and again.
  std::erase_if(named.ids,
                [&](const std::string& id) { return context.seen_ids->has(access, id); });
  TRY(check_hidden(context.reader, named));
  return keep_seen(context, named);
}

std::unique_ptr<files::ArtifactStore> seen_artifacts(files::ArtifactStore& all,
                                                     const store::Reader& reader) {
  return std::make_unique<SeenArtifacts>(all, reader);
}

}  // namespace corral::server
