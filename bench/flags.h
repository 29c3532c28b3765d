// Flags of the benchmark programs: `--name value`, each with a default; an unknown one ends the
// program.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace corral::bench {

class Flags {
 public:
  Flags(int argc, char** argv, int first) {
    for (int i = first; i < argc; i += 2) {
      const std::string name = argv[i];
      if (!name.starts_with("--") || i + 1 == argc) refuse(name);
      values_[name.substr(2)] = argv[i + 1];
    }
  }
  std::string text(const std::string& name, const std::string& fallback) {
    known_.insert(name);
    const auto found = values_.find(name);
    return found == values_.end() ? fallback : found->second;
  }
  double number(const std::string& name, double fallback) {
    const std::string given = text(name, "");
    return given.empty() ? fallback : std::strtod(given.c_str(), nullptr);
  }
  std::size_t count(const std::string& name, double fallback) {
    return static_cast<std::size_t>(number(name, fallback));
  }
  // After the last flag was read.
  void finish() const {
    for (const auto& [name, value] : values_) {
      if (!known_.contains(name)) refuse("--" + name);
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    fmt::print(stderr, "unknown flag or no value: {}\n", what);
    std::exit(2);
  }
  std::map<std::string, std::string> values_;
  std::set<std::string> known_;
};

}  // namespace corral::bench
