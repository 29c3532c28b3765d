// Fixture of the tests of handlers: a server's parts over a real SQLite store of their own, without
// a socket.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "server/core/accounts.h"
#include "server/core/alerts.h"
#include "server/core/door.h"
#include "server/core/profile_requests.h"
#include "server/core/router.h"
#include "store/open/sqlite_store.h"
#include "store/test_reader.h"

namespace corral::server {

// All parts of a streamed answer.
inline std::string streamed(const Response& response) {
  std::string text;
  Result<bool> more = true;
  while (more && *more) more = response.stream(text);
  EXPECT_TRUE(more) << more.error().message;
  return text;
}

class HandlerTest : public ::testing::Test {
 protected:
  // A streamed answer is returned complete.
  Response send(Method method, std::string_view target, std::string body = {},
                Pairs headers = {{"content-type", "application/json"}}) {
    Request request;
    request.method = method;
    EXPECT_TRUE(parse_target(target, request));
    request.body = std::move(body);
    request.headers = std::move(headers);
    Response response = route(std::move(request), *context_);
    if (response.late) response = response.late([] { return false; });
    if (!response.stream) return response;
    response.body = streamed(response);
    if (response.stream_length) {
      EXPECT_EQ(response.body.size(), response.stream_length);
    }
    return response;
  }
  static Json json_of(const Response& response) {
    auto json = Json::parse(response.body);
    EXPECT_TRUE(json) << response.body;
    return json ? *std::move(json) : Json();
  }
  // The answer, of status 200.
  Json ok(Method method, std::string_view target, std::string body = {}) {
    const Response response = send(method, target, std::move(body));
    EXPECT_EQ(response.status, 200) << target << ' ' << response.body;
    return json_of(response);
  }
  // An error of MLflow's interface: "400 INVALID_PARAMETER_VALUE: the message".
  std::string refused(Method method, std::string_view target, std::string body = {}) {
    const Response response = send(method, target, std::move(body));
    const auto json = Json::parse(response.body);
    if (!json) return response.body;
    return std::to_string(response.status) + ' ' + json->get_string("error_code") + ": " +
           json->get_string("message");
  }

 private:
  struct Directory {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("corral-" + RunId::random().hex());
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  const Directory own_{};

 protected:
  const std::filesystem::path& directory_ = own_.path;
  const std::unique_ptr<store::Store> store_ =
      store::open_sqlite_store({.directory = directory_ / "store"}).value();
  EventHub events_;
  const std::unique_ptr<door::State> door_ =
      door::open(*store_, {*store_, store::Access::everything()});
  ProfileRequests profiles_;
  Accounts accounts_{{*store_, store::Access::everything()}};
  const Alerts alerts_sent_{*store_, {*store_, store::Access::everything()}, accounts_, {}};
  const std::unique_ptr<Context> context_ = [this] {
    auto context = std::make_unique<Context>(Context{
        *store_, {*store_, store::Access::everything()}, events_, {"1.2.3", utc_time(5)}, [] {}});
    context->door = door_.get();
    context->profiles = &profiles_;
    context->accounts = &accounts_;
    context->alerts = &alerts_sent_;
    return context;
  }();
};

}  // namespace corral::server
