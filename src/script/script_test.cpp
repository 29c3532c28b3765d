#include "script/script.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace corral::script {
namespace {

constexpr Script::Limits kSmall{.bytes = std::size_t{16} << 20, .time = std::chrono::seconds(20)};

// An object `test` with one function.
std::string source_of(const std::string& body) {
  return "var test = { go: function (bytes) { " + body + " } };";
}

Result<std::string> outcome(const std::string& body, std::string_view bytes = {},
                            std::vector<Script::Function> functions = {},
                            Script::Limits limits = kSmall) {
  auto script = Script::load(source_of(body), limits, std::move(functions));
  if (!script) return tl::unexpected(script.error());
  return script->call("test", "go", bytes);
}

std::string message(const Result<std::string>& result) {
  return result ? "no error: " + *result : result.error().message;
}

constexpr const char* kEcho = "return new Uint8Array(bytes);";
constexpr const char* kText =
    "return new TextEncoder().encode(new "
    "TextDecoder().decode(bytes).split('').reverse().join(''));";

TEST(Script, GivesBackTheBytesThatItGets) {
  const std::string all("\0\xff\xc3\x28 a\n\x80", 8);
  EXPECT_EQ(outcome(kEcho, all), all);
  EXPECT_EQ(outcome(kEcho, ""), "");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(outcome(kEcho, large), large);
  EXPECT_EQ(outcome("return new Uint8Array(bytes).subarray(1, 3);", "abcd"), "bc");
}

TEST(Script, ReadsAndWritesTextAsUtf8) {
  EXPECT_EQ(outcome(kText, "aé−"), "−éa");
  EXPECT_EQ(
      outcome("return new TextEncoder().encode(String(new TextDecoder().decode(bytes).length));",
              "\xf0\x9f\x8f\x87"),
      "2");
  EXPECT_EQ(outcome("return new TextEncoder().encode(JSON.parse(new TextDecoder().decode(bytes)));",
                    R"("\ud83c\udfc7")"),
            "\xf0\x9f\x8f\x87");
}

TEST(Script, TakesAStringInPlaceOfBytes) {
  EXPECT_EQ(outcome("return new TextDecoder().decode(bytes);", "a\xf0\x9f\x8f\x87 b"),
            "a\xf0\x9f\x8f\x87 b");
  EXPECT_EQ(outcome("return '';"), "");
  EXPECT_EQ(outcome("return '\\ud83c';"), "\xef\xbf\xbd") << "half a character";
  const Script::Function echo{"echo", [](std::string_view text) { return std::string(text); }};
  EXPECT_EQ(outcome("return new TextDecoder().decode(echo('\\ud83c\\udfc7é'));", "", {echo}),
            "\xf0\x9f\x8f\x87é");
}

TEST(Script, KeepsItsStateBetweenCalls) {
  auto script = Script::load(
      "var n = 0; var test = { go: function () { return new Uint8Array([++n]); } };", kSmall, {});
  ASSERT_TRUE(script);
  EXPECT_EQ(script->call("test", "go"), "\1");
  EXPECT_EQ(script->call("test", "go"), "\2");
  Script moved = std::move(*script);
  EXPECT_EQ(moved.call("test", "go"), "\3");
}

TEST(Script, SaysWhatWentWrong) {
  EXPECT_EQ(message(outcome("throw new Error('no metric \\'lo\\'');")), "no metric 'lo'");
  EXPECT_EQ(message(outcome("throw new TypeError('x');")), "TypeError: x");
  EXPECT_EQ(message(outcome("throw 'a word';")), "a word");
  EXPECT_EQ(message(outcome("throw { toString: function () { throw 1; } };")).find("no error"),
            std::string::npos);
  EXPECT_EQ(message(outcome("throw new Error('\\ud83c\\udfc7 é \\ud83c');")),
            "\xf0\x9f\x8f\x87 é \xef\xbf\xbd");
  EXPECT_NE(message(outcome("return 1;")).find("TypeError"), std::string::npos);
  EXPECT_NE(message(outcome("return missing;")).find("missing"), std::string::npos);
  EXPECT_NE(message(outcome("return (")).find("SyntaxError"), std::string::npos);
  auto script = Script::load("var test = {};", kSmall, {});
  ASSERT_TRUE(script);
  EXPECT_FALSE(script->call("test", "go"));
  EXPECT_FALSE(script->call("nothing", "go"));
}

TEST(Script, GoesOnAfterAnError) {
  auto script = Script::load(
      "var test = { bad: function () { throw new Error('bad'); }, go: function (b) { return b; } "
      "};",
      kSmall, {});
  ASSERT_TRUE(script);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(message(script->call("test", "bad")), "bad");
  EXPECT_EQ(script->call("test", "go", "x"), "x");
}

TEST(Script, CallsTheFunctionsThatItIsGiven) {
  const auto twice = [](std::string_view bytes) -> Result<std::string> {
    return std::string(bytes) + std::string(bytes);
  };
  EXPECT_EQ(outcome("return new Uint8Array(twice(bytes));", "ab", {{"twice", twice}}), "abab");
  EXPECT_EQ(outcome("return new Uint8Array(twice(new Uint8Array(bytes).subarray(1)));", "ab",
                    {{"twice", twice}}),
            "bb");
  EXPECT_NE(message(outcome("twice('text');", "", {{"twice", twice}})).find("TypeError"),
            std::string::npos);
}

TEST(Script, PassesOnTheErrorOfAFunction) {
  const auto refuse = [](std::string_view) -> Result<std::string> {
    return fail(Code::kNotFound, "no run '%s'");
  };
  const auto thrown = [](std::string_view) -> Result<std::string> {
    throw std::runtime_error("broken");
  };
  const auto refused = outcome("refuse(bytes);", "", {{"refuse", refuse}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no run '%s'");
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_EQ(
      outcome("try { refuse(bytes); } catch (e) { return new TextEncoder().encode(e.message); }",
              "", {{"refuse", refuse}}),
      "no run '%s'");
  EXPECT_EQ(message(outcome("thrown(bytes);", "", {{"thrown", thrown}})), "broken");
}

TEST(Script, ReachesNothingElse) {
  for (const char* name : {"require", "process", "print", "console", "readFile"})
    EXPECT_NE(message(outcome(std::string("return ") + name + ";")).find("ReferenceError"),
              std::string::npos)
        << name;
}

TEST(Script, StopsAtItsMemory) {
  EXPECT_EQ(message(outcome("var all = []; for (;;) all.push(new Uint8Array(100000));")),
            "the script needs more than 16 MiB of memory");
  EXPECT_EQ(message(outcome("var s = 'x'; for (;;) s += s;")),
            "the script needs more than 16 MiB of memory");
  EXPECT_EQ(message(outcome(kEcho, std::string(std::size_t{20} << 20, 'x'))),
            "the script needs more than 16 MiB of memory");
  // It may be freed and used again.
  EXPECT_EQ(
      outcome("for (var i = 0; i < 200; i++) new Uint8Array(1 << 20); return new Uint8Array(1);"),
      std::string(1, '\0'));
}

TEST(Script, StopsAtItsTime) {
  const Script::Limits brief{.bytes = std::size_t{16} << 20, .time = std::chrono::milliseconds(50)};
  const auto stopped = outcome("for (;;) bytes = [bytes.length];", "", {}, brief);
  EXPECT_EQ(message(stopped), "the script took longer than 0.05 s");
  EXPECT_EQ(stopped.error().code, Code::kTooLarge);
}

TEST(Script, EndsDeepRecursionAndHostileNames) {
  EXPECT_NE(message(outcome("function f() { return f() + 1; } f();")).find("Error"),
            std::string::npos);
  EXPECT_EQ(outcome("var o = JSON.parse(new TextDecoder().decode(bytes));"
                    "return new TextEncoder().encode(Object.keys(o).join());",
                    R"({"__proto__":1,"constructor":2,"\u0000":3})"),
            std::string("__proto__,constructor,\0", 23));
}

}  // namespace
}  // namespace corral::script
