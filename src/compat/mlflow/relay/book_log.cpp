#include "compat/mlflow/relay/book_log.h"

#include <fcntl.h>

#include <algorithm>

namespace corral::run {
namespace {

constexpr std::size_t kMostBytes = 1u << 30;
constexpr const char* kLogs = "mlflow";
constexpr const char* kBook = "mlflow/book";

}  // namespace

std::vector<Json> BookLog::lines() const {
  std::vector<Json> all;
  const std::string text = run_.read_file(kBook, kMostBytes).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto line = Json::parse(std::string_view(text).substr(at, end - at));
    if (line && line->as_object() != nullptr) all.push_back(*std::move(line));
    at = end + 1;
  }
  return all;
}

void BookLog::add(const Json& line) {
  if (!file_) {
    const auto folder = run_.make_directory(kLogs);
    auto opened = folder ? run_.open_file(kBook, O_WRONLY | O_CREAT | O_APPEND)
                         : Result<sys::Fd>(tl::unexpected(folder.error()));
    if (!opened) return;
    file_ = std::move(*opened);
  }
  // It begins with a line end, so that a torn line before it does not swallow it.
  [[maybe_unused]] const auto written = sys::write_all(file_.get(), "\n" + line.dump());
}

}  // namespace corral::run
