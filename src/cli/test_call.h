// Calls a command of `corral` in a test, in a directory of its own, and keeps what it prints.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sys/process.h"

namespace corral::cli {

struct Output {
  int status = 0;
  std::string output, error;
};

inline Output call(int (*command)(std::span<char* const>), std::vector<std::string> words) {
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Output output{.status = command(args), .output = {}, .error = {}};
  output.output = ::testing::internal::GetCapturedStdout();
  output.error = ::testing::internal::GetCapturedStderr();
  return output;
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The working directory and the home of the commands; no CORRAL_ variable is set.
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "corral-command-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    std::filesystem::current_path(dir_);
    for (const std::string& entry : sys::own_environment())
      if (entry.starts_with("CORRAL_")) ::unsetenv(entry.substr(0, entry.find('=')).c_str());
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"})
      ::setenv(name, (dir_ / name).c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"})
      ::unsetenv(name);
    std::filesystem::current_path("/");
    std::filesystem::remove_all(dir_);
  }
  std::filesystem::path dir_;
};

}  // namespace corral::cli
