// A directory of its own for a test, and programs that stand in for tools.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "environment/environment.h"
#include "sys/file.h"

namespace corral::environment {

class Workshop {
 public:
  Workshop() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / ("corral-environment-" + std::to_string(::getpid()) + "-" +
                                         test->test_suite_name() + "-" + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    options_ = {.directory = root_,
                .cache = root_ / "cache",
                .progress = [this](std::string_view line) { reported_.emplace_back(line); },
                .cancelled = {}};
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() { fs::remove_all(root_); }

  [[nodiscard]] const fs::path& root() const { return root_; }
  [[nodiscard]] const std::vector<std::string>& reported() const { return reported_; }
  PrepareOptions& options() { return options_; }

  fs::path file(const std::string& name, const std::string& content) const {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(sys::replace_file(path, content));
    return path;
  }
  // A shell script; its own directory comes first in PATH from then on.
  fs::path program(const std::string& name, const std::string& body) {
    const fs::path path = file("bin/" + name, "#!/bin/sh\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    const std::string old = ::getenv("PATH");
    const std::string own = (root_ / "bin").string();
    if (!old.starts_with(own)) ::setenv("PATH", (own + ":" + old).c_str(), 1);
    return path;
  }
  Result<Prepared> prepare(const std::string& text) {
    return environment::prepare(parse(text).value(), options_);
  }

 private:
  fs::path root_;
  PrepareOptions options_;
  std::vector<std::string> reported_;
};

inline std::string recorded(const Prepared& prepared, const std::string& key) {
  for (const auto& [name, value] : prepared.record)
    if (name == "environment." + key) return value;
  return "";
}

inline bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace corral::environment
