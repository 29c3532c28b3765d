// For tests: the fake driver under a timeline and a clock of the test's, and copies of a fake
// library that lack a function.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/fake/control.h"
#include "collect/nvidia/nvidia_listener.h"
#include "collect/test_roots.h"
#include "core/test_paths.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::collect::nvidia {

class TestClock final : public sys::Clock {
 public:
  BootTime now() override { return now_; }
  bool sleep_until(BootTime deadline) override {
    if (deadline > now_ && on_sleep) on_sleep(seconds(deadline - now_));
    now_ = std::max(now_, deadline);
    return true;
  }
  void pass(double s) { now_ += Nanos(std::llround(s * 1e9)); }
  std::function<void(double)> on_sleep;  // called as time passes

 private:
  BootTime now_ = boot_time(1'000'000'000);
};

// A file of its own, removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& content) {
    path_ = (std::filesystem::temp_directory_path() / "corral_nvml_XXXXXX").string();
    ::close(::mkstemp(path_.data()));
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string timeline(const std::string& name) {
  return fixture_text("nvml/" + name + ".timeline");
}

// The driver runs on steered time: it stands at `at()` seconds, and calls that take long pass the
// test's clock.
class FakeDriver {
 public:
  explicit FakeDriver(const std::string& timeline, std::string library = fake_nvml())
      : file_(timeline), library_(std::move(library)) {
    ::setenv("CORRAL_FAKE_NVML", file_.path().c_str(), 1);
    handle_ = ::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << ::dlerror();
    current() = this;
    symbol<decltype(corral_fake_on_latency)>("corral_fake_on_latency")(
        [](double s) { current()->clock.pass(s); });
    set_time(0);
    clock.on_sleep = [this](double s) { set_time(time_ + s); };
  }
  ~FakeDriver() { ::dlclose(handle_); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  void set_time(double s) {
    clock.pass(s - time_);
    time_ = s;
    symbol<decltype(corral_fake_set_time)>("corral_fake_set_time")(s);
  }
  [[nodiscard]] double at() const { return time_; }
  [[nodiscard]] unsigned long calls(const char* function) const {
    return symbol<decltype(corral_fake_calls)>("corral_fake_calls")(function);
  }
  [[nodiscard]] const std::string& library() const { return library_; }

  // The fake's UTC: what its samples have for times.
  static Nanos utc_minus_boot() {
    const double utc = current()->symbol<decltype(corral_fake_utc)>("corral_fake_utc")();
    return Nanos(std::llround(utc * 1e6) * 1000) - current()->clock.now().time_since_epoch();
  }
  Clocks clocks() { return {.boot = &clock, .utc_minus_boot = utc_minus_boot}; }

  TestClock clock;

 private:
  template <class F>
  [[nodiscard]] F* symbol(const char* name) const {
    return reinterpret_cast<F*>(::dlsym(handle_, name));
  }
  static FakeDriver*& current() {
    static FakeDriver* one = nullptr;
    return one;
  }

  ScratchFile file_;
  std::string library_;
  void* handle_ = nullptr;
  double time_ = 0;
};

inline testing::AssertionResult holds(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" lacks \"" << part << '"';
}
// One message was sent, and it contains that part.
inline testing::AssertionResult just(const std::vector<std::string>& told, std::string_view part) {
  if (told.size() == 1) return holds(told.front(), part);
  auto failure = testing::AssertionFailure() << told.size() << " things were told:";
  for (const std::string& text : told) failure << '\n' << text;
  return failure;
}

// Listener "nvidia" on such a driver.
struct Opened {
  explicit Opened(FakeDriver& its_driver, ListenerContext context = {}) : driver(its_driver) {
    if (context.library_path.empty()) context.library_path = driver.library();
    context.news = news;
    listener = open_listener(context, table, driver.clocks());
  }
  Values fast_at(double s) {
    driver.set_time(s);
    return sample_once(*listener, table, kFastGroup);
  }
  Values slow_at(double s) {
    driver.set_time(s);
    return sample_once(*listener, table, kSlowGroup);
  }
  [[nodiscard]] std::string missing(std::string_view source) const {
    return collect::missing(table, source);
  }
  [[nodiscard]] std::string described(std::string_view key) const {
    for (const Description& d : table.descriptions()) {
      if (d.key == key) return d.value;
    }
    return "";
  }
  std::vector<std::string> told() { return drained(*news); }

  FakeDriver& driver;
  std::shared_ptr<News> news = std::make_shared<News>();
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

}  // namespace corral::collect::nvidia

namespace corral::collect::vendor {

// Path of a copy whose symbol table has lost that name. Copies are kept until the end: the loader
// knows libraries by their inode, and would take a new file with an old one's for the old one.
inline const std::string& library_without(std::string_view function, const std::string& library) {
  static std::vector<std::unique_ptr<nvidia::ScratchFile>> copies;
  std::string binary = sys::read_file(library).value();
  const std::string name = '\0' + std::string(function) + '\0';
  std::size_t found = 0;
  for (auto at = binary.find(name); at != std::string::npos; at = binary.find(name, at + 1)) {
    binary[at + 1] = 'x';
    ++found;
  }
  EXPECT_GT(found, 0U) << function;
  copies.push_back(std::make_unique<nvidia::ScratchFile>(binary));
  return copies.back()->path();
}

}  // namespace corral::collect::vendor
