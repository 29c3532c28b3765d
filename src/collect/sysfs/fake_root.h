// For tests: a tree of small files below a directory of its own, removed with the object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "collect/fixture_root.h"

namespace corral::collect {

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
