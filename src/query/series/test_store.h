// A real store in a temporary directory, for the tests of query/.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "store/open/sqlite_store.h"
#include "store/reader.h"
#include "store/test_frames.h"

namespace corral::query::testing {

class TestStore {
 public:
  TestStore()
      : path_(std::filesystem::temp_directory_path() /
              ("corral-query-" + SessionId::random().hex())) {
    auto store = store::open_sqlite_store({.directory = path_});
    CORRAL_ASSERT(store.has_value());
    store_ = *std::move(store);
  }
  ~TestStore() {
    store_.reset();
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  store::Reader operator*() { return {*store_, store::Access::everything()}; }
  store::Store* operator->() { return store_.get(); }
  // Everything must be taken.
  void append(const std::vector<codec::Frame>& frames) {
    const auto result = store_->append(frames);
    CORRAL_ASSERT(result && result->refusals.empty());
  }
  store::testing::SessionWriter begin(RunId run, const std::vector<codec::SeriesDef>& series,
                                      std::string name = "calm-otter", std::int64_t start = 1000) {
    store::testing::SessionWriter writer;
    auto body = store::testing::session_body(run);
    body.run_name = std::move(name);
    body.started = boot_time(start);
    append({writer.frame(body)});
    append({writer.frame(codec::SchemaBody{.series = series})});
    return writer;
  }
  SeriesId series(RunId run, std::string_view name) {
    const auto all = (**this).series_of(run);
    for (const store::Series& s : *all) {
      if (s.name == name) return s.id;
    }
    return {};
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace corral::query::testing
