#include "environment/mlproject.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "environment/test_support.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

constexpr const char* kFile = R"(name: digits
python_env: python_env.yaml
entry_points:
  main:
    parameters:
      data: path
      lr: {type: float, default: 0.1}
      note: {default: a b}
    command: "python train.py --lr {lr} --data {data} --note {note} --set '{{x}}'"
  validate:
    command: python validate.py
)";

Project project() {
  auto read = parse_project(kFile);
  EXPECT_TRUE(read) << read.error().message;
  read->directory = "/usr";
  return *read;
}

std::string line(const std::vector<std::string>& command) {
  const auto words = expand_command(project(), command);
  return words ? words->back() : words.error().message;
}

TEST(Mlproject, IsReadAsMlflowReadsIt) {
  const Project p = project();
  EXPECT_EQ(p.name, "digits");
  EXPECT_EQ(p.python_env, "python_env.yaml");
  ASSERT_EQ(p.entry_points.size(), 2U);
  EXPECT_EQ(p.entry_points[0].parameters[1].type, "float");
  EXPECT_EQ(p.entry_points[0].parameters[1].preset, "0.1");
  EXPECT_EQ(p.entry_points[1].command, "python validate.py");
}

TEST(Mlproject, FillsInDefaultsAndQuotes) {
  EXPECT_EQ(line({"main", "--data", "bin", "--lr=0.5"}),
            "cd /usr && python train.py --lr 0.5 --data /usr/bin --note 'a b' --set '{x}'");
  EXPECT_EQ(line({"main", "-P", "data=bin", "--note", "it's", "--extra", "1 2"}),
            "cd /usr && python train.py --lr 0.1 --data /usr/bin --note 'it'\"'\"'s' --set '{x}' "
            "--extra '1 2'");
}

TEST(Mlproject, ErrorsNameTheParameter) {
  EXPECT_EQ(line({"main"}), "entry point main: needs data: give --data VALUE");
  EXPECT_EQ(line({"main", "--data", "bin", "--lr", "much"}),
            "entry point main: parameter lr: 'much' is not a number");
  EXPECT_NE(line({"main", "--data", "nowhere"}).find("/usr/nowhere: no such file"),
            std::string::npos);
}

TEST(Mlproject, OtherCommandsStay) {
  const std::vector<std::string> command{"make", "--jobs", "3"};
  EXPECT_EQ(expand_command(project(), command).value(), command);
}

TEST(Mlproject, ErrorsNameTheLine) {
  EXPECT_NE(parse_project("entry_points:\n  main: 3\n").error().message.find("line 2"),
            std::string::npos);
  EXPECT_NE(parse_project("name: [\n").error().message.find("line"), std::string::npos);
  EXPECT_FALSE(parse_project("conda_env: a\npython_env: b\n"));
  EXPECT_FALSE(parse_project(std::string(20000, '[')));
}

TEST(Mlproject, DockerAndVariables) {
  const auto p = parse_project(
      "docker_env:\n  image: img\n  volumes: ['/a:/b']\n  environment: [['X', 'y'], 'HOME']\n");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->docker_env->image, "img");
  EXPECT_EQ(p->docker_env->environment, (std::vector<std::string>{"X=y", "HOME"}));
}

TEST(Mlproject, PythonEnvBecomesRequirements) {
  const auto env = parse_python_env(
      "python: 3.11\nbuild_dependencies: [pip]\ndependencies:\n- -r more.txt\n- six==1.16\n", "/p");
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_EQ(env->python, "3.11");
  EXPECT_EQ(env->requirements, "pip\n-r /p/more.txt\nsix==1.16\n");
}

TEST(Mlproject, WithoutAnEnvironmentRunsHere) {
  Workshop shop;
  shop.file("p/MLproject", "entry_points: {main: {command: 'echo {x}', parameters: {x: string}}}");
  const auto prepared = shop.prepare("mlproject=p");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(recorded(*prepared, "kind"), "mlproject");
  EXPECT_EQ(recorded(*prepared, "project_kind"), "local");
  const auto command = entry_command(*prepared, {"main", "--x", "$HOME; echo no"});
  ASSERT_TRUE(command);
  EXPECT_EQ(sys::capture_output({.argv = *command, .directory = {}, .idle = false}).value(),
            "$HOME; echo no\n");
}

RC_GTEST_PROP(Mlproject, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto read = parse_project(text);
  if (!read) RC_ASSERT(!read.error().message.empty());
}

// Pieces of real files in any order reach deeper than any text does.
RC_GTEST_PROP(Mlproject, AnyPiecesAreReadOrRefused, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "entry_points:", "\n  ", "main:", "command: ", "{x}", "parameters:", "[", "]", "{", "}", "- ",
      "\n", "&a ", "*a", "docker_env:", "image: ", "volumes:", "|", "!!str ", "? ", ": ", "~"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const auto read = parse_project(text);
  if (!read) return;
  for (const EntryPoint& entry : read->entry_points)
    [[maybe_unused]] const auto words = expand_command(*read, {entry.name, "--x", "1"});
}

TEST(Mlproject, AShellReadsQuotedWordsBack) {
  std::mt19937 random(8);
  std::string line = "printf '%s\\n'";
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    std::string word;
    for (auto n = random() % 12; n > 0; --n) {
      const char c = static_cast<char>(1 + random() % 126);
      word += c == '\n' ? 'x' : c;
    }
    line += " ";
    line += shell_quoted(word);
    expected += word;
    expected += '\n';
  }
  EXPECT_EQ(sys::capture_output({.argv = {"/bin/sh", "-c", line}, .directory = {}, .idle = false})
                .value(),
            expected);
}

}  // namespace
}  // namespace corral::environment
