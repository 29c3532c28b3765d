#include "collocate/nvidia/fake/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace corral::collocate::nvidia::fake {
namespace {

std::string state_path() {
  const char* path = std::getenv("FAKE_NVML_STATE");
  return path != nullptr ? path : "";
}

}  // namespace

State::State() {
  const std::string path = state_path();
  lock_ = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (lock_ >= 0 && ::flock(lock_, LOCK_EX) != 0) {
  }
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    const auto space = line.find(' ');
    if (space == std::string::npos || line.front() == '#') continue;
    values_[line.substr(0, space)] = line.substr(space + 1);
  }
}

State::~State() {
  if (changed_) {
    const std::string path = state_path();
    const std::string next = path + ".next";
    {
      std::ofstream out(next);
      for (const auto& [key, value] : values_) out << key << ' ' << value << '\n';
    }
    std::rename(next.c_str(), path.c_str());
  }
  if (lock_ >= 0) ::close(lock_);
}

std::string State::text(const std::string& key, const std::string& fallback) const {
  const auto at = values_.find(key);
  return at == values_.end() ? fallback : at->second;
}

long State::number(const std::string& key, long fallback) const {
  const auto at = values_.find(key);
  return at == values_.end() ? fallback : std::strtol(at->second.c_str(), nullptr, 10);
}

void State::set(const std::string& key, const std::string& value) {
  changed_ = true;
  if (value.empty()) {
    values_.erase(key);
  } else {
    values_[key] = value;
  }
}

}  // namespace corral::collocate::nvidia::fake
