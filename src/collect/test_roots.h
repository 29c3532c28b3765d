// For tests: trees of /proc and /sys, those of tests/fixtures and those that a test makes up, and
// what a listener gives there.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/listener.h"
#include "collect/news.h"
#include "collect/series.h"
#include "core/test_paths.h"
#include "sys/file.h"

namespace corral::collect {

inline std::filesystem::path fixture_root(const std::string& name) {
  return std::filesystem::path(source_dir()) / "tests/fixtures" / name;
}

inline std::string fixture_text(const std::string& path) {
  return sys::read_file(std::filesystem::path(source_dir()) / "tests/fixtures" / path).value();
}

// "metric" or "metric/source" -> value, of the values that are there.
using Values = std::map<std::string, double>;

// Why a source is not available, or nothing.
inline std::string missing(const SeriesTable& table, std::string_view source) {
  for (const Unavailable& u : table.missing()) {
    if (u.source == source) return u.reason;
  }
  return "";
}

// Returns the messages since the last call, as "source: text"; a note as "note: source: text".
inline std::vector<std::string> drained(News& news) {
  std::vector<std::string> all;
  news.drain([&](const News::Item& item) {
    all.push_back((item.note ? "note: " : "") + std::string(item.source) + ": " +
                  std::string(item.text));
  });
  return all;
}

inline Values sample_once(Listener& listener, const SeriesTable& table, Group group) {
  const auto series = table.series(group);
  std::vector<double> values(series.size());
  std::vector<std::uint8_t> present(series.size());
  Row row(values, present);
  group == kFastGroup ? listener.sample_fast(row) : listener.sample_slow(row);
  Values found;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string name(series[i].metric->name);
    if (present[i] != 0)
      found[series[i].source.empty() ? name : name + "/" + series[i].source] = values[i];
  }
  return found;
}

// A tree of small files below a directory of its own, removed with the object.
class FakeRoot {
 public:
  using File = std::pair<std::string, std::string>;

  FakeRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "corral-root-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  FakeRoot(std::initializer_list<File> files) : FakeRoot() {
    for (const auto& [path, content] : files) write(path, content);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() { std::filesystem::remove_all(path_); }

  // In place: files that are open see the new content.
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = path_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(path_ / path); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace corral::collect
