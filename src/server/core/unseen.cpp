#include "server/core/unseen.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
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
constexpr std::array<std::string_view, 3> kTexts = {"value", "text", "description"};
constexpr std::array<std::string_view, 2> kExperiments = {"experiment_id", "experiment_ids"};
constexpr std::array<std::string_view, 2> kNames = {"name", "new_name"};
// Headers of spans.
constexpr std::string_view kExperimentHeader = "x-mlflow-experiment-id";
constexpr std::string_view kRunHeader = "x-mlflow-run-id";

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
          if (before.ends_with(kind)) id = std::string(kind) + id;
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
  void add(std::string_view member, const Json& value) {
    if (std::ranges::find(kTexts, member) != kTexts.end()) return;
    if (std::ranges::find(kExperiments, member) != kExperiments.end()) add_experiment(value);
    if (const std::string* text = value.as_string()) add_ids(*text);
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
        return fail(Code::kNotFound, fmt::format("there is no experiment {}", id));
    }
    return {};
  });
}

// Handlers read bodies by the same parser, and refuse those that it does.
void add_body(const Request& request, Named& named) {
  auto json = Json::parse(request.body);
  // MLflow's interface takes JSON that is encoded twice.
  if (json && json->as_string() != nullptr) json = Json::parse(std::string(*json->as_string()));
  if (!json) return;
  named.add("", *json);
  if (!door::owns(request.path)) return;
  const bool model = request.path.find("/registered-models/") != std::string::npos ||
                     request.path.find("/model-versions/") != std::string::npos;
  for (const std::string_view member : kNames)
    if (const Json* name = json->find(member); name != nullptr && name->as_string() != nullptr)
      named.names.emplace_back(*name->as_string(), model ? '.' : '/');
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
  Result<> remove(std::string_view path) override {
    TRY(check(path));
    const auto entries = TRY(all_.list(path));
    for (const files::Entry& entry : entries) TRY(check(below(path, entry.name)));
    return all_.remove(path);
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
  // kNotFound. The default places begin with the number of their experiment.
  [[nodiscard]] Result<> check(std::string_view path) const {
    Named named;
    named.add_ids(path);
    if (const auto number = parse_int(path.substr(0, path.find('/'))))
      named.experiments.insert(*number);
    TRY(check_hidden(reader_, named));
    const std::vector<std::string> locations =
        TRY(in_snapshot(reader_, accounts::hidden_locations));
    for (const std::string& location : locations) {
      const auto place = path_in_store(all_, location, "");
      if (place && !place->empty() && (path == *place || path.starts_with(*place + "/")))
        return fail(Code::kNotFound, fmt::format("there is no file '{}'", to_utf8(path)));
    }
    return {};
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

Result<> check_ids(const store::Reader& reader, std::string_view text) {
  if (reader.access().sees_all()) return {};
  Named named;
  named.add_ids(text);
  return check_hidden(reader, named);
}

Result<> check_names(const Request& request, const Context& context) {
  const store::Access& access = context.reader.access();
  if (access.sees_all()) return {};
  Named named;
  const std::string path = percent_decode(request.path).value_or(request.path);
  named.add_ids(path);
  named.names.emplace_back(saved_name(request.path), '/');
  if (const auto number = experiment_in(path)) named.experiments.insert(*number);
  if (role_for(request) > Role::kReader) {
    for (const auto& [name, value] : request.query) named.add(name, Json(value));
    named.add(kExperiments[0], Json(std::string(request.header(kExperimentHeader))));
    named.add_ids(request.header(kRunHeader));
    add_body(request, named);
  }
  for (const auto& [name, separator] : named.names) TRY(check_name(access, name, separator));
  return check_hidden(context.reader, named);
}

std::unique_ptr<files::ArtifactStore> seen_artifacts(files::ArtifactStore& all,
                                                     const store::Reader& reader) {
  return std::make_unique<SeenArtifacts>(all, reader);
}

}  // namespace corral::server
