// The media of a run by name and step (docs/media.md): an index over its artifacts.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compat/mlflow/wire/artifact_path.h"
#include "compat/mlflow/wire/image_name.h"
#include "core/json.h"
#include "core/media_name.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifacts.h"
#include "store/search/runs.h"

namespace corral::server::api {
namespace {

using store::artifacts::ArtifactStore;
using store::artifacts::Entry;

constexpr std::size_t kMostNames = 500;
constexpr std::size_t kMostSteps = 10'000;  // when one name is asked for
constexpr std::size_t kMostStepsTogether = 20'000;
constexpr std::size_t kLeastSteps = 20;
constexpr std::size_t kMostStepsOfEach = 1000;
constexpr std::size_t kMostFolders = 32;
constexpr std::size_t kMostTags = 256u << 10;  // bytes of the tag that lists tables

struct Medium {
  std::string name;
  MediaKind kind = MediaKind::kImage;
  std::optional<std::int64_t> step;
  std::optional<UtcTime> time;
  std::string path;
  std::uint64_t size = 0;
};

auto place_of(const Medium& medium) { return std::tie(medium.name, medium.kind, medium.step); }

// Reads the folders of a run's artifacts that may hold media.
class MediaScan {
 public:
  MediaScan(ArtifactStore& files, std::string root, std::set<std::string> tables)
      : files_(files), root_(std::move(root)), tables_(std::move(tables)) {}

  Result<std::vector<Medium>> read() {
    std::vector<std::string> folders;
    for (const Entry& entry : TRY(files_.list(root_))) {
      if (!entry.is_dir) {
        add_plain(entry.name, entry.size);
      } else if (entry.name == kMediaFolder) {
        TRY(read_media());
      } else if (entry.name != "corral" && entry.name != "profile" &&
                 folders.size() < kMostFolders) {
        folders.push_back(entry.name);
      }
    }
    for (const std::string& folder : folders) TRY(read_folder(folder));
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string below(std::string_view folder) const {
    return fmt::format("{}/{}", root_, folder);
  }

  Result<> read_media() {
    for (const Entry& entry : TRY(files_.list(below(kMediaFolder)))) {
      auto media = parse_media_name(entry.name);
      if (entry.is_dir || !media) continue;
      found_.push_back({.name = to_utf8(media->name),
                        .kind = media->kind,
                        .step = media->step,
                        .time = {},
                        .path = fmt::format("{}/{}", kMediaFolder, entry.name),
                        .size = entry.size});
    }
    return {};
  }

  Result<> read_folder(const std::string& folder) {
    for (const Entry& entry : TRY(files_.list(below(folder)))) {
      if (entry.is_dir) continue;
      const std::string path = fmt::format("{}/{}", folder, entry.name);
      auto image = folder == corral::mlflow::kImageFolder
                       ? corral::mlflow::parse_image_name(entry.name)
                       : std::nullopt;
      if (!image) {
        add_plain(path, entry.size);
      } else if (!image->compressed) {
        found_.push_back({.name = std::move(image->key),
                          .kind = MediaKind::kImage,
                          .step = image->step,
                          .time = image->time,
                          .path = path,
                          .size = entry.size});
      }
    }
    return {};
  }

  // A file that was logged under a path of its own has no step. Texts are taken for other files.
  void add_plain(const std::string& path, std::uint64_t size) {
    auto kind = tables_.contains(path) ? MediaKind::kTable : media_kind_of(path);
    if (!kind || *kind == MediaKind::kText) return;
    found_.push_back(
        {.name = path, .kind = *kind, .step = {}, .time = {}, .path = path, .size = size});
  }

  ArtifactStore& files_;
  const std::string root_;
  const std::set<std::string> tables_;
  std::vector<Medium> found_;
};

// The paths of tables by MLflow's log_table(), which notes them in a tag.
std::set<std::string> tables_of_tag(std::string_view tag) {
  std::set<std::string> paths;
  const auto json = Json::parse(tag);
  const Json::Array* const all = tag.size() <= kMostTags && json ? json->as_array() : nullptr;
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    const Json& one = (*all)[i];
    if (one.as_object() != nullptr && one.get_string("type") == "table")
      paths.insert(one.get_string("path"));
  }
  return paths;
}

// By name, kind and step; of several files of one step the newest counts.
void sort_media(std::vector<Medium>& media) {
  std::ranges::sort(media, [](const Medium& a, const Medium& b) {
    return std::tuple(place_of(a), a.time, a.path) < std::tuple(place_of(b), b.time, b.path);
  });
  const auto same = [](const Medium& newer, const Medium& older) {
    return place_of(newer) == place_of(older);
  };
  media.erase(media.begin(), std::unique(media.rbegin(), media.rend(), same).base());
}

using Row = std::span<const Medium>;  // all steps have one name and kind

std::vector<Row> rows_of(std::span<const Medium> media) {
  std::vector<Row> rows;
  while (!media.empty()) {
    const auto end = std::ranges::find_if(media, [&](const Medium& one) {
      return one.name != media.front().name || one.kind != media.front().kind;
    });
    const auto count = static_cast<std::size_t>(end - media.begin());
    rows.push_back(media.first(count));
    media = media.subspan(count);
  }
  return rows;
}

// At most `most` of a row, evenly spread, with the first and the last.
void write_steps(JsonWriter& json, Row row, std::size_t most) {
  const std::size_t count = std::min(row.size(), most);
  json.key("steps").begin_array();
  for (std::size_t i = 0; i < count; ++i) {
    const Medium& one = row[count == 1 ? row.size() - 1 : i * (row.size() - 1) / (count - 1)];
    json.begin_object();
    write_integer(json, "step", one.step);
    json.member("path", one.path);
    json.key("size").value_string(static_cast<std::int64_t>(one.size));
    if (one.time) write_time(json, "time_ns", one.time);
    json.end_object();
  }
  json.end_array();
}

struct MediaQuery {
  std::optional<std::string_view> name;
  std::int64_t from_step, to_step;
};

Parsed<MediaQuery> read_query(const Request& request) {
  const auto step = [&](std::string_view name, std::int64_t fallback) {
    return query_int(request, name, {.low = INT64_MIN, .high = INT64_MAX, .fallback = fallback});
  };
  return MediaQuery{.name = request.query_value("name"),
                    .from_step = TRY_PARSED(step("from_step", INT64_MIN)),
                    .to_step = TRY_PARSED(step("to_step", INT64_MAX))};
}

bool is_wanted(const Medium& medium, const MediaQuery& query) {
  return (!query.name || medium.name == *query.name) &&
         (!medium.step || (*medium.step >= query.from_step && *medium.step <= query.to_step));
}

struct RunFiles {
  std::string uri;
  std::set<std::string> tables;
};
Result<RunFiles> find_files(Context& context, RunId id) {
  return in_snapshot(context.reader, [&](store::Reading& reading) -> Result<RunFiles> {
    const auto run = TRY(store::tracking::run(reading, id));
    if (!run) return fail(Code::kNotFound, fmt::format("there is no run {}", id.hex()));
    const auto tag = TRY(store::tracking::fact(reading, run->key, store::tracking::Fact::kTag,
                                               "mlflow.loggedArtifacts"));
    return RunFiles{.uri = run->artifact_uri, .tables = tables_of_tag(tag.value_or(""))};
  });
}

}  // namespace

Answer media(const Request& request, Context& context) {
  const MediaQuery query = TRY_PARSED(read_query(request));
  if (context.artifacts == nullptr)
    return fail(Code::kUnsupported, "this server stores no artifacts");
  const RunId run = TRY(requested_run(request, context));
  RunFiles files = TRY(find_files(context, run));
  const std::string root = TRY(path_in_store(*context.artifacts, files.uri, ""));
  auto found = TRY(MediaScan(*context.artifacts, root, std::move(files.tables)).read());
  std::erase_if(found, [&](const Medium& medium) { return !is_wanted(medium, query); });
  sort_media(found);
  std::vector<Row> rows = rows_of(found);
  const std::size_t names = rows.size();
  if (names > kMostNames) rows.resize(kMostNames);
  const std::size_t most =
      query.name ? kMostSteps
                 : std::clamp(kMostStepsTogether / std::max<std::size_t>(1, rows.size()),
                              kLeastSteps, kMostStepsOfEach);
  return object_response([&](JsonWriter& json) {
    json.member("names", static_cast<std::int64_t>(names));
    write_array(json, "media", rows, [&](JsonWriter& each, Row row) {
      each.begin_object();
      each.member("name", row.front().name).member("kind", media_kind_name(row.front().kind));
      each.member("count", static_cast<std::int64_t>(row.size()));
      write_steps(each, row, most);
      each.end_object();
    });
  });
}

}  // namespace corral::server::api
