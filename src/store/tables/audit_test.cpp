// Tests the audit's rows on both engines.
#include "store/tables/audit.h"

#include <gtest/gtest.h>

#include "store/search/test_search.h"

namespace corral::store::audit {
namespace {

class Audit : public tracking::SearchTest {
 protected:
  std::int64_t begin_at(std::int64_t ns, const std::string& user) {
    return write([&](Writing& writing) {
      return begin(writing, {.time = utc_time(ns),
                             .user = user,
                             .address = "10.0.0.7",
                             .request = "DELETE /x",
                             .detail = "{}"});
    });
  }
  std::vector<Entry> found(const Filter& filter) {
    return read([&](Reading& reading) { return entries(reading, filter); });
  }
  std::vector<std::int64_t> ids(const Filter& filter) {
    std::vector<std::int64_t> all;
    for (const Entry& entry : found(filter)) all.push_back(entry.id);
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Audit, tracking::both_engines(), tracking::engine_name);

TEST_P(Audit, AnEntryHasAStatusOnceItIsEnded) {
  const std::int64_t id = begin_at(5, "ada");
  Entry expected{.id = id,
                 .time = utc_time(5),
                 .user = "ada",
                 .address = "10.0.0.7",
                 .request = "DELETE /x",
                 .detail = "{}"};
  EXPECT_EQ(found({}), std::vector{expected});
  ASSERT_TRUE(store_->change([&](Writing& writing) { return end(writing, id, 403); }));
  ASSERT_TRUE(store_->change([&](Writing& writing) { return end(writing, id + 7, 200); }));
  expected.status = 403;
  EXPECT_EQ(found({}), std::vector{expected});
}

TEST_P(Audit, TheNewestComeFirstPageByPage) {
  const std::int64_t first = begin_at(5, "ada");
  const std::int64_t second = begin_at(6, "bob");
  const std::int64_t third = begin_at(7, "");
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids({.limit = 2}), (Ids{third, second}));
  EXPECT_EQ(ids({.before = second}), Ids{first});
  EXPECT_EQ(ids({.user = "bob"}), Ids{second});
  EXPECT_EQ(ids({.user = ""}), Ids{third});
  EXPECT_EQ(ids({.from = utc_time(6), .to = utc_time(6)}), Ids{second});
}

TEST_P(Audit, OldEntriesGoWithTheNextOne) {
  const std::int64_t kept_ns = Nanos(kKept).count();
  begin_at(5, "ada");
  const std::int64_t at_the_end = begin_at(6, "ada");
  const std::int64_t last = begin_at(6 + kept_ns, "ada");
  EXPECT_EQ(ids({}), (std::vector{last, at_the_end}));
}

}  // namespace
}  // namespace corral::store::audit
