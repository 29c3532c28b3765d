#include "server/core/artifact_upload.h"

#include <fmt/core.h>

#include "server/core/artifact_files.h"
#include "server/core/door.h"

namespace corral::server {
namespace {

using store::tracking::RunRow;

struct RunFile {
  RunId run;
  std::string_view folder;  // ".../<run>"
};

// The run of ".../<run>/artifacts/...".
std::optional<RunFile> run_of(std::string_view path) {
  constexpr std::string_view kFiles = "/artifacts/";
  for (std::size_t at = path.find(kFiles); at != std::string_view::npos;
       at = path.find(kFiles, at + 1)) {
    const std::string_view folder = path.substr(0, at);
    if (const auto run = RunId::parse(folder.substr(folder.rfind('/') + 1)))
      return RunFile{.run = *run, .folder = folder};
  }
  return std::nullopt;
}

struct Found {
  std::optional<RunRow> row;
  bool removed = false;
};
Result<Found> find(Context& context, RunId run) {
  Found found;
  const auto read = [&](store::Reading& reading) -> Result<> {
    found.row = TRY(store::tracking::run(reading, run));
    found.removed = !found.row && TRY(store::tracking::was_removed(reading, run));
    return {};
  };
  TRY(context.reader.inspect(read));
  return found;
}

tl::unexpected<Error> gone(RunId run) {
  return fail(Code::kNotFound, fmt::format("run {} was removed", run.hex()));
}

}  // namespace

Result<std::optional<RunRow>> run_for_upload(Context& context, RunId id) {
  Found found = TRY(find(context, id));
  if (!found.row || found.row->place_is_kept) return found.row;
  const auto keep = [&](store::Writing& writing) -> Result<> {
    found.row = TRY(store::tracking::lock_run(writing, id));
    return found.row ? store::tracking::keep_artifact_uri(writing, *found.row) : Result<>();
  };
  TRY(context.store.change(keep));
  return found.row;
}

Result<> expect_file(Context& context, std::string_view path) {
  const auto file = run_of(path);
  if (!file) return {};
  const Found found = TRY(find(context, file->run));
  if (found.removed) return gone(file->run);
  if (!found.row || found.row->place_is_kept) return {};
  const auto place = path_in_store(*context.artifacts, found.row->artifact_uri, "");
  if (!place || !path.starts_with(*place + "/")) return {};
  return run_for_upload(context, file->run).map([](const auto&) {});
}

// Removes a stored file whose run was removed meanwhile. Called after the commit of the file: a
// removal of the run from then on removes its files, too.
Result<> settle_file(Context& context, std::string_view path) {
  const auto file = run_of(path);
  if (!file || !TRY(find(context, file->run)).removed) return {};
  TRY(context.artifacts->remove(file->folder));
  return gone(file->run);
}

Response receive_file(const Request& request, Context& context, const std::string& path,
                      FileAnswer answer) {
  if (const Result<> expected = expect_file(context, path); !expected) return answer(expected);
  auto created = context.artifacts->create(path, request.body_length());
  if (!created) return answer(tl::unexpected(created.error()));
  const std::shared_ptr<store::artifacts::Writer> file = *std::move(created);
  const auto finish = [file, &context, path]() -> Result<> {
    TRY(file->commit());
    TRY(settle_file(context, path));
    return door::on_artifact(context, *context.artifacts, path);
  };
  return http::take_body(
      request, {.take = [file](std::string_view piece) { return file->append(piece); },
                .end = [finish, answer = std::move(answer)](
                           const Result<>& taken) { return answer(taken ? finish() : taken); }});
}

}  // namespace corral::server
