#include "run/mlflow/book_log.h"

#include <fcntl.h>

#include <algorithm>

namespace corral::run {
namespace {

constexpr std::size_t kMostBytes = 1u << 30;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateDirectory = 0700;

}  // namespace

BookLog::BookLog(const spool::fs::path& run_directory) : path_(run_directory / "mlflow" / "book") {}

std::vector<Json> BookLog::lines() const {
  std::vector<Json> all;
  const std::string text = sys::read_file(path_, kMostBytes).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto line = Json::parse(std::string_view(text).substr(at, end - at));
    if (line && line->as_object() != nullptr) all.push_back(*std::move(line));
    at = end + 1;
  }
  return all;
}

void BookLog::add(const Json& line) {
  if (!file_ && !sys::make_directories(path_.parent_path(), kPrivateDirectory)) return;
  if (!file_) {
    auto opened = sys::open_file(path_, O_WRONLY | O_CREAT | O_APPEND, kPrivateFile);
    if (!opened) return;
    file_ = std::move(*opened);
  }
  // It begins with the line's end: what was cut before does not take this line with it.
  [[maybe_unused]] const auto written = sys::write_all(file_.get(), "\n" + line.dump());
}

}  // namespace corral::run
