#include "compat/mlflow/import/copy_artifacts.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "store/artifacts/open/open_artifacts.h"

namespace corral::store::importing {
namespace {

namespace fs = std::filesystem;
using artifacts::ArtifactStore;
using artifacts::Entry;

// Returns a location in the form that open_artifact_store() takes. kUnsupported: this program
// cannot read it.
Result<std::string> resolve_location(const std::string& uri, const Source& source,
                                     const std::string& root) {
  constexpr std::string_view kProxy = "mlflow-artifacts:";
  if (uri.starts_with("s3://")) return uri;
  std::string path = uri;
  if (uri.starts_with(kProxy)) {
    if (root.empty()) {
      return fail(Code::kUnsupported,
                  "they are at the old server; name its --artifacts-destination with "
                  "--artifacts-from DIR");
    }
    // mlflow-artifacts:/path and mlflow-artifacts://host:port/path
    path = uri.substr(kProxy.size());
    if (path.starts_with("//")) path.erase(0, std::min(path.find('/', 2), path.size()));
    path = root + "/" + path.substr(std::min(path.find_first_not_of('/'), path.size()));
    if (path.starts_with("s3://")) return path;
  } else if (uri.starts_with("file:")) {
    path = uri.substr(5);
    if (path.starts_with("//")) path.erase(0, std::min(path.find('/', 2), path.size()));
  } else if (uri.find("://") != std::string::npos) {
    return fail(Code::kUnsupported, "such locations cannot be read");
  }
  // A local server wrote paths that start where it was started, mostly beside the file.
  if (!path.starts_with('/') && !source.directory().empty()) path = source.directory() + "/" + path;
  return path;
}

class Copier {
 public:
  Copier(const Imported& imported, const ArtifactCopy& copy, const maintain::Watch& watch)
      : imported_(imported), copy_(copy), watch_(watch) {}

  // True: the tree's files are in `to` now. False: it was left out.
  Result<bool> tree(const std::string& uri, const std::string& to) {
    const auto place = resolve_location(uri, imported_.source, copy_.root);
    if (!place) return leave_out(uri, place.error());
    std::error_code error;
    if (place->starts_with('/') && !fs::is_directory(*place, error))
      return true;  // a run without artifacts has no directory
    auto from = artifacts::open_artifact_source(*place);
    if (!from) return leave_out(uri, from.error());
    TRY(directory(**from, "", to));
    return true;
  }
  CopiedFiles finish() { return std::move(copied_); }

 private:
  bool leave_out(const std::string& uri, const Error& error) {
    constexpr std::size_t kNamed = 3;
    LeftOut& left = copied_.left_out[error.message];
    ++left.count;
    if (left.first.size() < kNamed) left.first.push_back(uri);
    return false;
  }

  // Directories of any depth, without recursion.
  Result<> directory(ArtifactStore& from, const std::string& path, const std::string& to) {
    std::vector<std::string> waiting{path};
    while (!waiting.empty()) {
      const std::string one = std::move(waiting.back());
      waiting.pop_back();
      const std::vector<Entry> there = TRY(copy_.to.list(join_path(to, one)));
      for (const Entry& entry : TRY(from.list(one))) {
        const std::string name = join_path(one, entry.name);
        if (entry.is_dir) {
          waiting.push_back(name);
          continue;
        }
        const auto same = std::ranges::find(there, entry.name, &Entry::name);
        if (same != there.end() && !same->is_dir && same->size == entry.size) continue;
        TRY(file(from, name, join_path(to, name)));
      }
    }
    return {};
  }

  Result<> file(ArtifactStore& from, const std::string& path, const std::string& to) {
    TRY(watch_.at("copying artifacts, MB", copied_.bytes / 1'000'000, 0));
    const auto reader = TRY(from.open(path));
    const auto writer = TRY(copy_.to.create(to, reader->size()));
    Result<> written;
    TRY(reader->read({}, [&](std::string_view piece) {
      written = writer->append(piece);
      return written.has_value();
    }));
    TRY(std::move(written));
    TRY(writer->commit());
    ++copied_.files;
    copied_.bytes += static_cast<std::int64_t>(reader->size());
    return {};
  }

  static std::string join_path(const std::string& a, const std::string& b) {
    return a.empty() ? b : b.empty() ? a : a + "/" + b;
  }

  const Imported& imported_;
  const ArtifactCopy& copy_;
  const maintain::Watch& watch_;
  CopiedFiles copied_;
};

// A location that the store has for it from now on.
struct Moved {
  std::string id, uri;
};

// Logged models and traces: their locations are rows of their own. `select`: id, location,
// experiment.
struct Kind {
  const char *table, *location, *select, *folder, *update;
};
constexpr Kind kKinds[] = {
    {"logged_models", "artifact_location",
     "SELECT model_id, artifact_location, experiment_id FROM logged_models", "models",
     "UPDATE logged_models SET artifact_uri = ?2 WHERE id = ?1"},
    {"trace_tags", "value",
     "SELECT t.request_id, t.value, i.experiment_id FROM trace_tags t JOIN trace_info i ON "
     "i.request_id = t.request_id WHERE t.key = 'mlflow.artifactLocation'",
     "traces",
     "UPDATE trace_facts SET value = ?2 WHERE trace = ?1 AND kind = 1 AND key = "
     "'mlflow.artifactLocation'"},
};

Result<> copy_kind(const Imported& imported, Copier& copier, const Kind& kind) {
  Source& source = imported.source;
  if (!source.has(kind.table, kind.location)) return {};
  std::vector<std::pair<Moved, std::string>> all;  // with the folder that is copied to
  {
    sql::Statement row = TRY(source.db().query(kind.select));
    while (TRY(row.step())) {
      const auto experiment = imported.experiments.find(row.integer(2));
      if (experiment == imported.experiments.end()) continue;
      all.emplace_back(Moved{.id = clean(row.text(0)), .uri = clean(row.text(1))},
                       fmt::format("{}/{}/{}/artifacts", experiment->second.value, kind.folder,
                                   clean(row.text(0))));
    }
  }
  std::erase_if(all, [](const auto& one) { return one.first.uri.empty(); });
  std::vector<std::pair<Moved, std::string>> moved;
  for (auto& [from, to] : all) {
    if (TRY(copier.tree(from.uri, to)))
      moved.emplace_back(Moved{.id = from.id, .uri = "mlflow-artifacts:/" + to}, from.uri);
  }
  return imported.store.change([&](sql::Connection& db) -> Result<> {
    for (const auto& [now, before] : moved) {
      TRY(db.exec(kind.update, now.id, now.uri));
      TRY(db.exec("UPDATE model_versions SET storage_location = ?2 WHERE storage_location = ?1",
                  before, now.uri));
    }
    return {};
  });
}

}  // namespace

Result<CopiedFiles> copy_artifacts(const Imported& imported, const ArtifactCopy& copy,
                                   const maintain::Watch& watch) {
  Copier copier(imported, copy, watch);
  std::vector<const SourceRun*> left;
  for (const SourceRun* run : imported.runs) {
    if (run->artifact_uri.empty()) continue;
    const std::string to = fmt::format(
        "{}/{}/artifacts", imported.experiments.at(run->experiment).value, run->id.hex());
    if (!TRY(copier.tree(run->artifact_uri, to))) left.push_back(run);
  }
  // Those stay where they are.
  const Change stay = [&](sql::Connection& db) -> Result<> {
    for (const SourceRun* run : left) {
      TRY(db.exec("UPDATE runs SET artifact_uri = ?2 WHERE id = ?1", run->id, run->artifact_uri));
    }
    return {};
  };
  TRY(imported.store.change(stay));
  for (const Kind& kind : kKinds) TRY(copy_kind(imported, copier, kind));
  return copier.finish();
}

}  // namespace corral::store::importing
