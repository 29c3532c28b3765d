// GET /runs/{run}/footprint over a real store.

#include <gtest/gtest.h>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kNanos = 1'000'000'000;

class FootprintRoute : public HandlerTest {
 protected:
  // 100 s at 360 W, with an intensity and a price.
  FootprintRoute() {
    codec::SeriesDef package = frames::series_def(1, "host.energy.package");
    package.kind = metric::Kind::kCounter;
    package.owner = metric::Owner::kHost;
    package.source = "package-0";
    std::vector<std::pair<std::int64_t, double>> joules;
    for (std::int64_t s = 0; s <= 101; ++s)
      joules.emplace_back(s * kNanos, 360.0 * static_cast<double>(s));
    auto body = frames::session_body(run_, "supervisor");
    body.machine = "m7";
    body.started = boot_time(0);
    const auto info = [](std::string key, std::string value) {
      return codec::Fact{.kind = codec::FactKind::kInfo, .key = std::move(key), .value = value};
    };
    const auto done = store_->append(std::vector{
        writer_.frame(body), writer_.frame(codec::SchemaBody{{package}}),
        writer_.frame(codec::FactsBody{
            {info("footprint.pue", "1.25"), info("footprint.intensity_g_per_kwh", "400"),
             info("footprint.intensity_source", "\"grid\""), info("footprint.price_per_hour", "36"),
             info("footprint.currency", "\"EUR\"")}}),
        writer_.frame(frames::samples(1, joules)),
        writer_.frame(codec::RunEndBody{.time = boot_time(100 * kNanos),
                                        .reason = codec::EndReason::kExit,
                                        .exit_code = 0,
                                        .exit_signal = {}})});
    EXPECT_TRUE(done && done->refusals.empty());
  }
  [[nodiscard]] std::string path(const std::string& query = "") const {
    return "/api/corral/v1/runs/" + run_.hex() + "/footprint" + query;
  }
  static std::string utc(std::int64_t s) {
    return std::to_string(s * kNanos + frames::kUtcMinusBoot);
  }

  RunId run_ = RunId::random();
  frames::SessionWriter writer_;
};

TEST_F(FootprintRoute, AnswersJoulesGramsAndMoney) {
  const Json found = ok(Method::kGet, path());
  EXPECT_EQ(found.get_string("from_ns"), utc(0));
  EXPECT_EQ(found.get_string("to_ns"), utc(100));
  EXPECT_FALSE(found.get_bool("provisional"));
  EXPECT_NEAR(found.find("joules")->as_double(0), 36'000, 1e-3);
  EXPECT_EQ(found.get_string("summary"), "36 kJ: 36 kJ CPU, measured in 100 % of the time.");
  const Json& part = found.find("parts")->as_array()->at(0);
  EXPECT_EQ(part.get_string("component"), "cpu");
  EXPECT_EQ(part.get_string("method"), "counter");
  EXPECT_EQ(part.get_string("unsplit"), "the host's idle power is unknown");
  EXPECT_TRUE(part.find("split")->is_null());
  EXPECT_EQ(found.find("missing")->as_array()->size(), 2U) << "no GPU, no DRAM";
  EXPECT_NEAR(found.find("emissions")->find("co2e_g")->as_double(0), 0.01 * 1.25 * 400, 1e-6);
  EXPECT_EQ(found.find("emissions")->get_string("intensity_source"), "grid");
  EXPECT_NEAR(found.find("cost")->find("total")->as_double(0), 1, 1e-9);
  EXPECT_EQ(found.find("cost")->get_string("currency"), "EUR");
  EXPECT_TRUE(found.find("cost")->find("energy")->is_null());
  EXPECT_EQ(found.find("units")->as_array()->at(0).get_string("unit"), "epoch");
  EXPECT_TRUE(found.find("units")->as_array()->at(0).find("joules")->is_null());
  EXPECT_TRUE(found.find("efficiency")->find("devices")->as_array()->empty());
  const Json& memory = found.find("efficiency")->find("profile")->as_array()->at(0);
  EXPECT_EQ(memory.get_string("name"), "gpu_memory_peak");
  EXPECT_TRUE(memory.find("value")->is_null());
  EXPECT_EQ(memory.get_string("reason"), "no GPU is known to be the run's");
}

TEST_F(FootprintRoute, TakesAWindow) {
  const Json part = ok(Method::kGet, path("?from_ns=" + utc(10) + "&to_ns=" + utc(20)));
  EXPECT_NEAR(part.find("joules")->as_double(0), 3600, 1e-3);
  const Json shortest =
      ok(Method::kGet, path("?to_ns=" + std::to_string(frames::kUtcMinusBoot + kNanos / 2)));
  EXPECT_TRUE(shortest.find("joules")->is_null());
  EXPECT_TRUE(shortest.find("emissions")->is_null());
  EXPECT_EQ(send(Method::kGet, path("?from_ns=5&to_ns=5")).status, 400);
  EXPECT_EQ(send(Method::kGet, path("?from_ns=" + utc(200))).status, 400);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/runs/nobody/footprint").status, 404);
}

}  // namespace
}  // namespace corral::server
