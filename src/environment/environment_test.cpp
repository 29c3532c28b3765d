#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "environment/environment.h"

namespace corral::environment {
namespace {

std::string complaint(std::string_view text) {
  const auto spec = parse(text);
  return spec ? "" : spec.error().message;
}

TEST(Parse, NothingIsLocal) {
  for (const char* text : {"", "-", " - ", "local"}) EXPECT_EQ(parse(text).value(), Spec{}) << text;
}

TEST(Parse, EachWordHasItsKind) {
  EXPECT_EQ(parse("python=/usr/bin/python3")->kind, Kind::kVenv);
  EXPECT_EQ(parse("venv=.venv")->target, ".venv");
  EXPECT_EQ(parse("conda=torch")->kind, Kind::kConda);
  EXPECT_EQ(parse("conda=torch")->tool, "");
  EXPECT_EQ(parse("micromamba=torch")->tool, "micromamba");
  EXPECT_EQ(parse("uv=requirements.txt")->kind, Kind::kUv);
  EXPECT_EQ(parse("pip=requirements.txt")->kind, Kind::kPip);
  EXPECT_EQ(parse("Docker = pytorch/pytorch:2.4 ")->target, "pytorch/pytorch:2.4");
  EXPECT_EQ(parse("mlproject=.")->kind, Kind::kMlproject);
}

TEST(Parse, OptionsKeepTheirOrder) {
  const auto spec =
      parse("podman=image@sha256:ab; mount=/a:/b:ro ;mount=/c;user=1000:1000;entrypoint=");
  ASSERT_TRUE(spec) << spec.error().message;
  const std::vector<std::pair<std::string, std::string>> expected{
      {"mount", "/a:/b:ro"}, {"mount", "/c"}, {"user", "1000:1000"}, {"entrypoint", ""}};
  EXPECT_EQ(spec->options, expected);
}

TEST(Parse, ErrorsNameWhatWasMeant) {
  EXPECT_NE(complaint("dokcer=x").find("did you mean docker=?"), std::string::npos);
  EXPECT_NE(complaint("pytorch").find("conda=pytorch"), std::string::npos);
  EXPECT_NE(complaint("conda").find("conda= names an environment's name"), std::string::npos);
  EXPECT_NE(complaint("docker=x;mounts=/a").find("did you mean mount=?"), std::string::npos);
  EXPECT_NE(complaint("docker=x;pull=often").find("missing|always|never"), std::string::npos);
  EXPECT_NE(complaint("docker=x;user=a;user=b").find("twice"), std::string::npos);
  EXPECT_NE(complaint("docker=x;mount").find("mount=…"), std::string::npos);
  EXPECT_NE(complaint("venv=x;python=y").find("takes none"), std::string::npos);
  EXPECT_NE(complaint("venv=a\nb").find("line break"), std::string::npos);
}

RC_GTEST_PROP(Parse, AnyTextIsReadOrRefusedAndWrittenBackTheSame, (const std::string& text)) {
  const auto spec = parse(text);
  if (!spec) {
    RC_ASSERT(spec.error().code == Code::kInvalidArgument);
    return;
  }
  RC_ASSERT(parse(to_string(*spec)).value() == *spec);
}

RC_GTEST_PROP(Parse, AnyTextBehindAWordToo, ()) {
  const auto word =
      *rc::gen::element<std::string>("docker=", "uv=", "conda=", "venv=", "pip=x;arg=");
  const auto rest = *rc::gen::container<std::string>(
      rc::gen::element('a', 'b', ';', '=', ' ', '/', ':', 'm', 'o', 'u', 'n', 't'));
  const auto spec = parse(word + rest);
  if (spec) RC_ASSERT(parse(to_string(*spec)).value() == *spec);
}

}  // namespace
}  // namespace corral::environment
