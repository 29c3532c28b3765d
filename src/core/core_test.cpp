// Ids, results, times and texts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <condition_variable>
#include <limits>
#include <set>
#include <thread>
#include <unordered_set>

#include "core/access_token.h"
#include "core/base64.h"
#include "core/cpu_list.h"
#include "core/guarded.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/result.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"

namespace corral {
namespace {

using std::chrono::milliseconds;

// ---- ids
TEST(Ids, HexIsReadInEitherCaseAndWrittenInLower) {
  const auto id = RunId::parse("0123456789ABCDEFfedcba9876543210");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->bytes[0], 0x01);
  EXPECT_EQ(id->bytes[7], 0xEF);
  EXPECT_EQ(id->bytes[15], 0x10);
  EXPECT_EQ(id->hex(), "0123456789abcdeffedcba9876543210");
}

TEST(Ids, AnythingElseIsNoId) {
  for (const std::string& text :
       {std::string(), std::string(31, 'a'), std::string(33, 'a'), "g" + std::string(31, 'a'),
        std::string(31, 'a') + " ", std::string(32, '\0')}) {
    const auto id = RunId::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, Code::kInvalidArgument);
  }
}

TEST(Ids, RandomOnesDiffer) {
  std::unordered_set<SessionId> seen;
  for (int i = 0; i < 1000; ++i) {
    const SessionId id = SessionId::random();
    EXPECT_FALSE(id.is_nil());
    EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_TRUE(SessionId().is_nil());
}

TEST(Ids, AWorkloadsIdFollowsFromItsNames) {
  // printf 'digits\0pair' | sha256sum
  EXPECT_EQ(workload_id_of("digits", "pair").hex(), "8c1bb984f12bde44b5d8f0b40cdabe36");
  EXPECT_NE(workload_id_of("a", "bc"), workload_id_of("ab", "c"));
  const RunId run = RunId::random();
  EXPECT_EQ(own_workload_of(run).hex(), run.hex());
}

TEST(AccessTokens, AreReadByTheirFormAndChecksum) {
  const AccessToken token = make_access_token();
  EXPECT_EQ(token.id.size(), 10U);
  EXPECT_EQ(access_token_id(token.text), token.id);
  EXPECT_NE(make_access_token().text, token.text);
  for (std::size_t i = 0; i < token.text.size(); ++i) {
    std::string mistyped = token.text;
    mistyped[i] = mistyped[i] == 'a' ? 'b' : 'a';
    // Without its beginning it is a text like any other.
    EXPECT_EQ(is_mistyped_access_token(mistyped), mistyped.starts_with("corral_pat_")) << i;
  }
  EXPECT_FALSE(is_mistyped_access_token(token.text));
  EXPECT_TRUE(is_mistyped_access_token(token.text.substr(0, 40)));
  EXPECT_FALSE(is_mistyped_access_token("0123456789abcdef"));
  EXPECT_FALSE(access_token_id(token.text + "0"));
  EXPECT_FALSE(access_token_id(token.text.substr(0, token.text.size() - 1)));
  EXPECT_FALSE(access_token_id(""));
}

TEST(Sha256, KnownAnswers) {
  const auto hex = [](std::string_view text) {
    std::string out;
    for (const std::uint8_t byte : sha256(text)) {
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out;
  };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// ---- results
Result<int> half(int n) {
  if (n % 2 != 0) return fail(Code::kInvalidArgument, "odd");
  return n / 2;
}
Result<int> quarter(int n) {
  const int once = TRY(half(n));
  return TRY(half(once));
}
Result<> check(int n) {
  TRY(half(n));
  return {};
}
Result<std::unique_ptr<int>> boxed(int n) { return std::make_unique<int>(TRY(half(n))); }
Result<int> unboxed(int n) {
  const std::unique_ptr<int> box = TRY(boxed(n));
  return *box;
}

TEST(Result, TryGivesTheValueOrLeavesWithTheError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(check(2));
  EXPECT_EQ(check(3).error().code, Code::kInvalidArgument);
  EXPECT_EQ(unboxed(8).value(), 4);
  EXPECT_FALSE(unboxed(7));
}

TEST(Result, ContextComesInFront) {
  const Error error = half(1).error().with_context("train.py").with_context("run");
  EXPECT_EQ(error.message, "run: train.py: odd");
  EXPECT_EQ(error.code, Code::kInvalidArgument);
}

TEST(Result, ErrnoBecomesACodeAndAMessage) {
  const std::pair<int, Code> cases[] = {
      {ENOENT, Code::kNotFound}, {EACCES, Code::kPermission},        {EROFS, Code::kPermission},
      {ENOSPC, Code::kNoSpace},  {EDQUOT, Code::kNoSpace},           {EEXIST, Code::kAlreadyExists},
      {EIO, Code::kIo},          {ECONNREFUSED, Code::kUnavailable}, {ENOSYS, Code::kUnsupported}};
  for (const auto& [number, code] : cases)
    EXPECT_EQ(fail_errno("x", number).value().code, code) << number;
  EXPECT_EQ(fail_errno("/data", ENOSPC).value().message, "/data: No space left on device");
}

TEST(Result, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int c = 0; c <= static_cast<int>(Code::kInternal); ++c)
    EXPECT_TRUE(names.insert(code_name(static_cast<Code>(c))).second);
}

TEST(ResultDeathTest, ABrokenAssertionSaysWhere) {
  EXPECT_DEATH(CORRAL_ASSERT(1 + 1 == 3), "1 \\+ 1 == 3 .*core_test.cpp");
}

TEST(Guarded, CountsEveryThreadsIncrement) {
  Guarded<int> count(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) count.with([](int& n) { ++n; });
      });
    }
  }
  EXPECT_EQ(count.with([](const int& n) { return n; }), 40'000);
}

// Two threads take turns: each waits with one kind of condition variable.
class Turns {
 public:
  void ping() {
    Lock lock(mutex_);
    even_.wait(lock.native(), [this]() REQUIRES(mutex_) { return turn_ % 2 == 0; });
    ++turn_;
    odd_.notify_one();
  }
  void pong() {
    Lock lock(mutex_);
    odd_.wait(lock, [this]() REQUIRES(mutex_) { return turn_ % 2 == 1; });
    lock.unlock();
    lock.lock();
    ++turn_;
    even_.notify_one();
  }
  int count() {
    const Lock lock(mutex_);
    return turn_;
  }

 private:
  Mutex mutex_;
  std::condition_variable even_;
  std::condition_variable_any odd_;
  int turn_ GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, WorksWithBothKindsOfConditionVariables) {
  Turns turns;
  {
    const std::jthread other([&] {
      for (int i = 0; i < 100; ++i) turns.pong();
    });
    for (int i = 0; i < 100; ++i) turns.ping();
  }
  EXPECT_EQ(turns.count(), 200);
}

// ---- times
TEST(Time, AnchorMovesBootTimeToUtc) {
  const ClockAnchor anchor{.utc_minus_boot = Nanos(1000), .error = Nanos(3)};
  EXPECT_EQ(ns_of(anchor.to_utc(boot_time(5))), 1005);
}

TEST(Time, IsoHasMillisecondsAndFloorsBeforeTheEpoch) {
  EXPECT_EQ(iso_utc(utc_time(1'763'710'530'123'999'999)), "2025-11-21T07:35:30.123Z");
  EXPECT_EQ(iso_utc(utc_time(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_utc(utc_time(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(iso_utc(utc_time(951'782'400'000'000'000)), "2000-02-29T00:00:00.000Z");
}

TEST(Time, DurationsForPeople) {
  EXPECT_EQ(human_duration(milliseconds(12'340)), "12.3 s");
  EXPECT_EQ(nanos_of_seconds(1.5), milliseconds(1500));
  EXPECT_EQ(nanos_of_seconds(std::numeric_limits<double>::quiet_NaN()), Nanos(0));
  EXPECT_EQ(nanos_of_seconds(1e300), nanos_of_seconds(1e12));
  EXPECT_EQ(nanos_of_seconds(-1e300), nanos_of_seconds(-1e12));
  EXPECT_LT(nanos_of_seconds(-1e300), Nanos(0));
  EXPECT_EQ(human_duration(milliseconds(59'990)), "1:00");
  EXPECT_EQ(human_duration(std::chrono::seconds(245)), "4:05");
  EXPECT_EQ(human_duration(std::chrono::seconds(3723)), "1:02:03");
  EXPECT_EQ(human_duration(std::chrono::seconds(2 * 86400 + 3 * 3600 + 4 * 60 + 5)), "2 d 3:04:05");
}

TEST(Time, DurationsOfPeople) {
  const std::pair<std::string_view, Nanos> cases[] = {
      {"250ms", milliseconds(250)},      {"2s", std::chrono::seconds(2)},
      {"2", std::chrono::seconds(2)},    {"1.5m", std::chrono::seconds(90)},
      {"3h", std::chrono::hours(3)},     {"1d", std::chrono::hours(24)},
      {"10us", Nanos(10'000)},           {"0", Nanos(0)},
      {"2min", std::chrono::minutes(2)}, {"0.1s", milliseconds(100)}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_duration(text), expected) << text;
  for (const std::string_view text :
       {"", "s", "-1s", "1 s", "1x", "1ss", "nan", "inf", "1e300s", "999999999999d", "0x10"}) {
    EXPECT_EQ(parse_duration(text), kNoDuration) << text;
  }
}

// ---- texts
TEST(Text, IntegersAreTakenWholeOrNotAtAll) {
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_int("007"), 7);
  for (const std::string_view text : {"", "1 ", " 1", "+1", "1.0", "9223372036854775808", "0x1"})
    EXPECT_FALSE(parse_int(text)) << text;
  EXPECT_EQ(parse_double("1e-3"), 0.001);
  EXPECT_FALSE(parse_double("1,5"));
}

TEST(Text, SharesInPercentOrAsNumbers) {
  EXPECT_EQ(parse_share("2%"), 0.02);
  EXPECT_EQ(parse_share("2 %"), 0.02);
  EXPECT_EQ(parse_share("0.02"), 0.02);
  EXPECT_EQ(parse_share("150%"), 1.5);
  for (const char* wrong : {"3", "1", "", "%", "2%%", "x%"})
    EXPECT_FALSE(parse_share(wrong)) << wrong;
}

TEST(Text, SizesOfPeople) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"1000", 1000},         {"64MiB", 64ll << 20}, {"2GiB", 2ll << 30},
      {"512k", 512ll << 10},  {"1.5K", 1536},        {"10B", 10},
      {"3MB", 3ll << 20},     {"1T", 1ll << 40},     {"0", 0},
      {"0.5GiB", 512ll << 20}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes(text), bytes) << text;
  for (const std::string_view text :
       {"", "k", "-1", "1 MiB", "1Mi", "1MBB", "1x", "nan", "inf", "1e30", "9999999T"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Text, SizesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(4.0 * (1ull << 30)), "4 GiB");
  EXPECT_EQ(human_bytes(1e30), "8.882e+14 PiB");
}

struct Utf8Case {
  std::string_view bytes;
  std::string_view fixed;
};

TEST(Utf8, EveryInvalidClassIsFoundAndReplacedByteByByte) {
  const Utf8Case cases[] = {
      {"\x80", "\uFFFD"},  // continuation alone
      {"a\xBF"
       "b",
       "a\uFFFD"
       "b"},
      {"\xC3", "\uFFFD"},  // cut short
      {"\xC3(", "\uFFFD("},
      {"\xE2\x82", "\uFFFD\uFFFD"},
      {"\xE2\x82(", "\uFFFD\uFFFD("},
      {"\xF0\x9F\x98", "\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x9F\x98(", "\uFFFD\uFFFD\uFFFD("},
      {"\xC0\x80", "\uFFFD\uFFFD"},  // overlong
      {"\xC1\xBF", "\uFFFD\uFFFD"},
      {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xE0\x9F\xBF", "\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x8F\xBF\xBF", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},  // surrogates
      {"\xED\xBF\xBF", "\uFFFD\uFFFD\uFFFD"},
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond U+10FFFF
      {"\xF5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xF8\x88\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},  // five bytes
      {"\xFE", "\uFFFD"},
      {"\xFF", "\uFFFD"},
  };
  for (const auto& [bytes, fixed] : cases) {
    EXPECT_FALSE(is_utf8(bytes));
    EXPECT_EQ(to_utf8(bytes), fixed);
  }
}

TEST(Utf8, EveryValidCharacterStays) {
  std::string all;
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x1000 ? 1 : 61) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    if (c < 0x80) {
      all += static_cast<char>(c);
    } else if (c < 0x800) {
      all += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      all += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      all += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }
  all += "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF";  // beside the surrogates, and the last one
  EXPECT_TRUE(is_utf8(all));
  EXPECT_EQ(to_utf8(all), all);
  EXPECT_EQ(utf8_prefix("aé\xE9z"), 3u);
}

TEST(Printable, WhatATerminalWouldObeyOrTurnIsWritten) {
  EXPECT_EQ(printable("näme\t1\r\n"), R"(näme\t1\r\n)");
  EXPECT_EQ(printable("\x1b[2J\x07\x7f"), R"(\x1b[2J\x07\x7f)");
  EXPECT_EQ(printable("a\u009b\u00a0z"), "a\\x9b\u00a0z") << "one of the C1 controls";
  EXPECT_EQ(printable("\u202e\u2066\u2069\u200f\u061c\u2028"),
            R"(\u202e\u2066\u2069\u200f\u061c\u2028)");
  EXPECT_EQ(printable("\xff\xe2\x80 → €…\u200d"), "\\xff\\xe2\\x80 → €…\u200d");
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable_lines("one\n\x1b[H\n"), "one\n\\x1b[H\n");
}

TEST(Text, EscapesForXml) {
  EXPECT_EQ(escaped_xml("<a b=\"c\">'&amp;"), "&lt;a b=&quot;c&quot;&gt;'&amp;amp;");
}

RC_GTEST_PROP(Utf8Property, WhatComesOutIsValidAndStays, (const std::string& bytes)) {
  const std::string text = to_utf8(bytes);
  RC_ASSERT(is_utf8(text));
  RC_ASSERT(to_utf8(text) == text);
  RC_ASSERT(is_utf8(bytes) == (text == bytes));
}

TEST(Glob, StarsQuestionMarksAndSets) {
  const std::pair<std::string_view, std::string_view> yes[] = {{"*", ""},
                                                               {"*", "anything"},
                                                               {"loss", "loss"},
                                                               {"*loss", "train/loss"},
                                                               {"host.*.busy", "host.cpu.busy"},
                                                               {"a?c", "abc"},
                                                               {"[a-c]x", "bx"},
                                                               {"[!a-c]x", "dx"},
                                                               {"[^a]x", "bx"},
                                                               {"[]]", "]"},
                                                               {"[a-]", "-"},
                                                               {"*a*b*", "xxaxxbxx"},
                                                               {"**", "x"},
                                                               {"[", "["},
                                                               {"a*", "a"},
                                                               {"[abc", "[abc"}};
  for (const auto& [pattern, name] : yes)
    EXPECT_TRUE(glob_match(pattern, name)) << pattern << " " << name;
  const std::pair<std::string_view, std::string_view> no[] = {
      {"", "a"},        {"loss", "Loss"},  {"loss", "losss"},   {"?", ""},      {"a?c", "ac"},
      {"[a-c]x", "dx"}, {"[!a-c]x", "ax"}, {"*a*b*", "xxbxxa"}, {"a*c", "abd"}, {"[!]]", "]"}};
  for (const auto& [pattern, name] : no)
    EXPECT_FALSE(glob_match(pattern, name)) << pattern << " " << name;
}

TEST(Glob, ManyStarsStayCheap) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(20'000, 'a')));
}

TEST(Text, WidthsOnATerminal) {
  EXPECT_EQ(display_width("loss 0.5"), 8U);
  EXPECT_EQ(display_width("näme… ⣀█"), 8U);
  EXPECT_EQ(display_width("日本🦙"), 6U);
  EXPECT_EQ(display_width("e\u0301"), 1U) << "an accent over the letter before it";
  EXPECT_EQ(first_glyph("日本").bytes, 3U);
  EXPECT_TRUE(first_glyph("日本").known);
  EXPECT_FALSE(first_glyph("\xff").known);
  EXPECT_FALSE(first_glyph("\u0378").known) << "no character has this code";
}

TEST(Text, SplitTrimJoin) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({"", "b"}, ","), ",b");
  EXPECT_EQ(join({}, ","), "");
}

TEST(EditDistance, KnownAnswers) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("train.py", "trian.py"), 2u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

RC_GTEST_PROP(EditDistanceProperty, IsADistance,
              (const std::string& a, const std::string& b, const std::string& c)) {
  const std::size_t ab = edit_distance(a, b);
  RC_ASSERT(ab == edit_distance(b, a));
  RC_ASSERT((ab == 0) == (a == b));
  RC_ASSERT(edit_distance(a, c) <= ab + edit_distance(b, c));
  RC_ASSERT(ab <= std::max(a.size(), b.size()));
}

TEST(CpuList, IsReadAndWrittenAsTheKernelDoes) {
  using Cpus = std::vector<int>;
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n").value(), (Cpus{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("3, 1,1-2").value(), (Cpus{1, 2, 3}));
  EXPECT_TRUE(parse_cpu_list(" ").value().empty());
  for (const char* bad : {"a", "1-", "-1", "3-1", "1,,2", "0-9999999", "1 2", "1-2-3", ","})
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
  EXPECT_EQ(format_cpu_list(Cpus{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list(Cpus{}), "");
}

// ---- base64
RC_GTEST_PROP(Base64, ComesBack, (const std::string& bytes)) {
  RC_ASSERT(from_base64(base64(bytes)) == bytes);
  RC_ASSERT(from_base64(base64url(bytes)) == bytes);
}

TEST(Base64, IsAsRfc4648Says) {
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64url("\xff\xef\xfe"), "_-_-");
  EXPECT_EQ(base64url("f"), "Zg");
  for (const char* none : {"Zg=a", "Z", "Zm9v!", "Zm 9"}) EXPECT_FALSE(from_base64(none)) << none;
}

}  // namespace
}  // namespace corral
