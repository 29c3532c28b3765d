// A PostgreSQL server for tests: made in a temporary directory, reached by a Unix socket there,
// fsync on, ended with the object or with the process, however that ends.
//
// As root it runs as the user `postgres`, whom the server demands. One thread (the main one: the
// server follows the thread that started it).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::store::testing {

class PostgresServer {
 public:
  // kNotFound: PostgreSQL's programs are not installed.
  static Result<std::unique_ptr<PostgresServer>> start_new();
  // The one of this test binary.
  static Result<PostgresServer*> shared();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // A new schema that belongs to a role of its own without any right beyond it; its URL.
  Result<std::string> new_schema();
  // A URL as the superuser, for looking from outside.
  [[nodiscard]] std::string admin_url() const;
  [[nodiscard]] std::string url(const std::string& user, const std::string& database,
                                const std::string& schema) const;
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  // Stop and start the server as if the machine went down and up again; both wait for the end.
  void stop_at_once();
  Result<> start();

 private:
  PostgresServer() = default;
  Result<> make();
  [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const;
  [[nodiscard]] Result<> run(const std::vector<std::string>& command) const;

  std::filesystem::path bin_, directory_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t server_ = -1;
  int schemas_ = 0;
};

}  // namespace corral::store::testing
