#include <cstdlib>
#include <filesystem>

#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "store/open/test_postgres.h"
#include "store/search/test_search.h"

namespace corral::store::tracking {
namespace {

class SqlitePlace final : public StorePlace {
 public:
  SqlitePlace() {
    std::string pattern = "/tmp/corral-search-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~SqlitePlace() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  SqlitePlace(const SqlitePlace&) = delete;
  SqlitePlace& operator=(const SqlitePlace&) = delete;
  Result<std::unique_ptr<Store>> open() override {
    return open_sqlite_store({.directory = directory_ / "store"});
  }

 private:
  std::filesystem::path directory_;
};

class PostgresPlace final : public StorePlace {
 public:
  explicit PostgresPlace(std::string url) : url_(std::move(url)) {}
  Result<std::unique_ptr<Store>> open() override { return open_postgres_store({.url = url_}); }

 private:
  const std::string url_;
};

}  // namespace

std::unique_ptr<StorePlace> sqlite_place() { return std::make_unique<SqlitePlace>(); }

std::unique_ptr<StorePlace> postgres_place() {
  const auto server = testing::PostgresServer::shared();
  if (!server && server.error().code == Code::kNotFound) return nullptr;
  EXPECT_TRUE(server) << server.error().message;
  const auto url = (*server)->new_schema();
  EXPECT_TRUE(url) << url.error().message;
  return std::make_unique<PostgresPlace>(*url);
}

}  // namespace corral::store::tracking
