// `corral rerun`: plans, shows, asks, restores into a new directory, and becomes `corral run`.
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/rerun_plan.h"
#include "core/text.h"
#include "environment/tool.h"
#include "run/set_up/secrets.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRerunExamples =
    "  corral rerun @1 --dry-run           print what would be done\n"
    "  corral rerun 3f2a --server http://lab:5000 --into again\n"
    "                                      on any machine that reaches the server\n"
    "  corral rerun @1 --environment uv=requirements.txt\n"
    "\nThe exit status is the command's own, as of `corral run`; 1 when the run could not be "
    "restored.\n";

struct RerunFlags {
  DestinationFlags destination;
  std::string run, into, environment, repository, name;
  bool any_environment = false, dry_run = false, yes = false;
};

volatile sig_atomic_t interrupted = 0;
void note_interrupt(int /*signal*/) { interrupted = 1; }

void on_interrupt(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: a question ends, too
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

tl::unexpected<Error> interrupted_error() { return fail(Code::kUnavailable, "interrupted"); }

// One run that is run again.
class Rerun {
 public:
  Rerun(const RerunFlags& flags, const sys::HttpTarget& server, Json run)
      : flags_(flags), server_(server), run_(std::move(run)) {}

  Result<> plan();
  void show(std::FILE* out) const;
  // Returns the exit status, or nullopt to continue.
  std::optional<int> confirm() const;
  Result<> find_secrets(bool may_ask);
  Result<> restore();
  // Comes back only when it could not.
  Error execute(const std::pair<std::string, std::string>& config);
  void warn_about_data() const {
    for (const std::string& text :
         data_differences(info(), plan_, {.restored = true, .stop = stops}))
      warn(text);
  }
  [[nodiscard]] const fs::path& directory() const { return plan_.directory; }

 private:
  [[nodiscard]] const Json& info() const { return member(run_, "info"); }
  [[nodiscard]] std::string artifacts() const {
    return run_path(run_.get_string("id"), "/artifacts/corral/");
  }
  static void warn(const std::string& text) { complain("rerun", text); }
  static bool stops() { return interrupted != 0; }
  [[nodiscard]] Result<fs::path> new_directory() const;
  [[nodiscard]] std::string code_text() const;
  [[nodiscard]] bool is_own_store() const;
  Result<> choose_environment_here(bool restored);
  Result<> check_out_commit();
  Result<> fill_directory();
  Result<> fetch(const KeptFile& file, CodeTree& tree);
  Result<std::vector<std::string>> run_words() const;
  Result<std::vector<std::string>> destination_words() const;

  const RerunFlags& flags_;
  const sys::HttpTarget& server_;
  sys::HttpClient client_{server_};
  const Json run_;
  RerunPlan plan_;
  RerunEnvironment environment_;
  Secrets secrets_;
  std::vector<std::string> data_notes_;
};

// A name that is one plain entry of a directory.
std::string to_file_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '_');
  if (name.empty() || name.front() == '.' || name.front() == '-') name.insert(0, "run");
  return name.substr(0, utf8_prefix(std::string_view(name).substr(0, 200)));
}

Result<fs::path> Rerun::new_directory() const {
  const std::string name =
      flags_.into.empty() ? to_file_name(run_.get_string("name")) + "-rerun" : flags_.into;
  std::error_code error;
  fs::path directory = fs::absolute(name, error).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  const auto state = fs::symlink_status(directory, error);
  if (!fs::exists(state)) return directory;
  if (!fs::is_directory(state) || !fs::is_empty(directory, error) || error)
    return fail(Code::kAlreadyExists,
                fmt::format("{} is there and not an empty directory; --into DIR names another one",
                            directory.string()));
  return directory;
}

Result<> Rerun::plan() {
  const auto list = get_json(server_, artifacts() + "code.json");
  if (!list && list.error().code == Code::kNotFound)
    return fail(Code::kNotFound,
                fmt::format("the code of run {} was not kept", printable(run_.get_string("name"))));
  if (!list) return tl::unexpected(list.error());
  const RerunRequest wish{
      .directory = TRY(new_directory()), .name = flags_.name, .repository = flags_.repository};
  plan_ = TRY(plan_rerun(run_, *list, wish));
  TRY(choose_environment_here(false));
  data_notes_ = data_differences(info(), plan_, {.restored = false, .stop = stops});
  return {};
}

Result<> Rerun::choose_environment_here(bool restored) {
  environment_ = TRY(choose_environment(info(),
                                        {.spec = flags_.environment,
                                         .any = flags_.any_environment,
                                         .directory = plan_.work,
                                         .restored = restored},
                                        {.directory = plan_.work,
                                         .cache = environment::default_cache(),
                                         .progress = {},
                                         .cancelled = {}}));
  return {};
}

std::string Rerun::code_text() const {
  const KeptCode& code = plan_.code;
  std::string kept = counted(code.files.size(), "file") + " kept with the run";
  if (code.whole || code.commit.empty()) return kept;
  std::string from;
  for (const std::string& source : plan_.sources)
    from += (from.empty() ? "" : ", else ") + printable(environment::without_credentials(source));
  if (from.empty()) from = "a repository that --repository has to name";
  return fmt::format("commit {} from {}{}; then {}{}", code.commit, from,
                     code.whole ? ", if it is there" : "", kept,
                     code.deleted.empty() ? "" : fmt::format(", {} removed", code.deleted.size()));
}

void Rerun::show(std::FILE* out) const {
  const auto line = [&](std::string_view name, std::string_view text) {
    fmt::print(out, "  {:<12} {}\n", name, text);
  };
  fmt::print(out, "{}  {}, from {}\n", printable(plan_.name), printable(plan_.id),
             printable(plan_.host));
  line("directory", printable(plan_.directory.string()));
  line("code", code_text());
  line("environment", printable(environment_.text));
  for (const Variable& variable : plan_.variables) {
    const std::string text = printable(variable.name + "=" + variable.value);
    line("variable", variable.left_out.empty()
                         ? text
                         : fmt::format("{} is not set: {}", text, variable.left_out));
  }
  for (const Masked& masked : plan_.masked) {
    const char* value = masked.variable.empty() ? nullptr : std::getenv(masked.variable.c_str());
    line("secret", fmt::format("{}: {}", printable(masked.where),
                               value != nullptr ? "from " + masked.variable
                                                : "to be asked for at a terminal"));
  }
  line("works in", printable(plan_.work.string()));
  line("command", printable(join(plan_.command, " ")));
  for (const auto* notes : {&plan_.notes, &environment_.notes, &data_notes_})
    for (const std::string& note : *notes) line("note", printable(note));
}

bool Rerun::is_own_store() const {
  const auto destination = parse_destination(flags_.destination);
  struct stat info {};
  return destination && destination->server.empty() && destination->database.empty() &&
         ::stat(destination->store.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

std::optional<int> Rerun::confirm() const {
  if (flags_.yes) return std::nullopt;
  if (!at_terminal()) {
    if (is_own_store()) return std::nullopt;
    fmt::print(stderr,
               "corral rerun: not a terminal; pass --yes to confirm that this command, which the "
               "server named, is executed here\n");
    return kMisuse;
  }
  fmt::print(stderr, "Run it? [y/N] ");
  if (read_yes()) return std::nullopt;
  fmt::print(stderr, "nothing was done\n");
  return kFailed;
}

Result<> Rerun::find_secrets(bool may_ask) {
  std::vector<std::string> missing;
  for (const Masked& masked : plan_.masked) {
    const char* value = masked.variable.empty() ? nullptr : std::getenv(masked.variable.c_str());
    if (value != nullptr) {
      secrets_[masked] = value;
    } else if (may_ask) {
      secrets_[masked] = TRY(ask_secret(masked.where));
    } else {
      missing.push_back(masked.variable.empty()
                            ? printable(masked.where)
                            : fmt::format("{} (set {})", printable(masked.where), masked.variable));
    }
  }
  if (missing.empty()) return {};
  return fail(Code::kUnprocessable,
              "secrets were not recorded with the run and are not here: " + join(missing, ", "));
}

Result<> Rerun::fetch(const KeptFile& file, CodeTree& tree) {
  if (interrupted != 0) return interrupted_error();
  sys::HttpRequest request{
      .path = artifacts() + "code", .body = {}, .timeout = std::chrono::minutes(10)};
  const bool together = file.at >= 0;
  if (together) {
    request.path = artifacts() + "together";
    request.headers = {{"Range", fmt::format("bytes={}-{}", file.at, file.at + file.bytes - 1)}};
  } else {
    for (const std::string_view part : split(file.path, '/'))
      request.path += "/" + sys::url_encode(part);
  }
  return tree.write(file, [&](const std::function<bool(std::string_view)>& take) -> Result<> {
    if (together && file.bytes == 0) return {};  // no range is empty
    const int status = TRY(client_.stream(
        request, [&](std::string_view piece) { return interrupted == 0 && take(piece); }));
    if (status == (together ? 206 : 200)) return {};
    return fail(Code::kNotFound, fmt::format("the server gives no {} of the run's code (HTTP {})",
                                             printable(file.path), status));
  });
}

// If all code was kept, the commit only turns the directory into the repository that it was.
Result<> Rerun::check_out_commit() {
  const KeptCode& code = plan_.code;
  if (code.commit.empty() || (code.whole && plan_.sources.empty())) return {};
  const environment::PrepareOptions options{
      .directory = plan_.directory, .cache = {}, .progress = {}, .cancelled = [] {
        return interrupted != 0;
      }};
  const auto source = check_out({.commit = code.commit,
                                 .sources = plan_.sources,
                                 .directory = plan_.directory,
                                 .origin = code.remote},
                                options);
  if (source) {
    warn(fmt::format("commit {} came from {}", code.commit,
                     printable(environment::without_credentials(*source))));
    return {};
  }
  if (!code.whole || interrupted != 0) return tl::unexpected(source.error());
  warn(source.error().message + "; the kept files are the whole code, outside of git");
  std::error_code error;
  fs::remove_all(plan_.directory / ".git", error);
  return error ? Result<>(fail(Code::kIo, error.message())) : Result<>();
}

Result<> Rerun::fill_directory() {
  const KeptCode& code = plan_.code;
  TRY(check_out_commit());
  CodeTree tree = TRY(CodeTree::open(plan_.directory));
  for (const std::string& path : code.deleted) TRY(tree.remove(path));
  for (const KeptFile& file : code.files)
    if (file.link.empty()) TRY(fetch(file, tree));
  if (!plan_.code.directory.starts_with('/')) TRY(tree.make_directory(plan_.code.directory));
  // Last: nothing is written behind them.
  for (const KeptFile& file : code.files)
    if (!file.link.empty() && stays_inside(file.path, file.link)) TRY(tree.link(file));
  const std::string expected = environment_.text;
  TRY(choose_environment_here(true));
  if (environment_.text != expected) {
    for (const std::string& note : environment_.notes) warn(note);
    warn("environment: " + environment_.text);
  }
  if (!environment_.requirements.empty())
    TRY(sys::replace_file(plan_.work / kRecordedRequirements, environment_.requirements));
  return {};
}

Result<> Rerun::restore() {
  std::error_code error;
  const bool made = fs::create_directories(plan_.directory, error);
  if (error) return fail(Code::kIo, plan_.directory.string() + ": " + error.message());
  auto fill_secrets = fill_directory();
  if (fill_secrets) return {};
  // It was empty or not there.
  for (const auto& entry : fs::directory_iterator(plan_.directory, error))
    fs::remove_all(entry.path(), error);
  if (made) fs::remove(plan_.directory, error);
  return interrupted != 0 ? Result<>(interrupted_error()) : fill_secrets;
}

Result<std::vector<std::string>> Rerun::destination_words() const {
  const spool::Destination to = TRY(parse_destination(flags_.destination));
  std::vector<std::string> words;
  if (!to.server.empty()) {
    words = {"--server", to.server};
  } else {
    words = {"--store", to.database.empty() ? to.store.string() : to.database};
  }
  const auto add_path = [&](const char* option, const std::string& path) {
    if (path.empty()) return;
    words.emplace_back(option);
    words.push_back(fs::absolute(path).string());
  };
  if (!flags_.destination.token_kept_back) add_path("--token-file", flags_.destination.token_file);
  add_path("--spool", flags_.destination.spool);
  return words;
}

Result<std::vector<std::string>> Rerun::run_words() const {
  std::vector<std::string> words{program_path().string(), "run"};
  for (std::string& word : TRY(destination_words())) words.push_back(std::move(word));
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(fmt::format("{}={}", option, value));
  };
  add("--experiment", plan_.experiment);
  if (!plan_.name.empty()) add("--name", plan_.name);
  for (const auto& [key, value] : plan_.params) add("--param", fmt::format("{}={}", key, value));
  for (const auto& [key, value] : plan_.tags) add("--tag", fmt::format("{}={}", key, value));
  add("--tag", "corral.rerun_of=" + plan_.id);
  if (!environment_.spec.empty()) add("--environment", environment_.spec);
  words.emplace_back("--");
  for (std::string& word : TRY(fill_secrets(plan_.command, secrets_)))
    words.push_back(std::move(word));
  return words;
}

Error Rerun::execute(const std::pair<std::string, std::string>& config) {
  auto words = run_words();
  if (!words) return words.error();
  for (const Variable& variable : plan_.variables) {
    const auto secret = secrets_.find({.variable = variable.name, .where = variable.name});
    const std::string& value = secret != secrets_.end() ? secret->second : variable.value;
    if (variable.left_out.empty()) ::setenv(variable.name.c_str(), value.c_str(), 1);
  }
  // The configuration of here, not one that came with the code.
  ::setenv(config.first.c_str(), config.second.c_str(), 1);
  ::unsetenv("CORRAL_ENVIRONMENT");
  if (flags_.destination.token_kept_back) ::setenv("CORRAL_TOKEN_FILE", "", 1);
  std::error_code error;
  fs::current_path(plan_.work, error);
  if (error) return {.code = Code::kIo, .message = plan_.work.string() + ": " + error.message()};
  std::vector<char*> argv;
  argv.reserve(words->size() + 1);
  for (std::string& word : *words) argv.push_back(word.data());
  argv.push_back(nullptr);
  on_interrupt(SIG_DFL);
  std::fflush(nullptr);
  ::execv(argv[0], argv.data());
  return fail_errno(argv[0], errno).value();
}

void declare_rerun(Arguments& a, RerunFlags& f) {
  a.positional("run", f.run, kRunHelp, true);
  a.text("into", f.into, "new directory for the code (default: ./NAME-rerun)");
  a.text("environment", f.environment, "environment of the command (default: as recorded)");
  a.flag("any-environment", f.any_environment,
         "use the current interpreter and packages even if they differ");
  a.text("repository", f.repository,
         "git repository, path or URL (default: the recorded one or its remote)");
  a.text("name", f.name, "name of the new run (default: the run's)");
  a.flag("dry-run", f.dry_run, "print what would be done, and exit");
  a.flag("yes", f.yes, "do not ask for confirmation");
  add_destination(a, f.destination);
  // The environment and the configuration file speak of runs, not of this one.
  for (const char* name : {"into", "environment", "any-environment", "repository", "name"})
    a.as_flag_only(name);
}

Result<int> rerun(const RerunFlags& flags, const std::pair<std::string, std::string>& config) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  Rerun rerun(flags, server, TRY(get_json(server, run_path(flags.run))));
  TRY(rerun.plan());
  rerun.show(flags.dry_run ? stdout : stderr);
  if (flags.dry_run) return kDone;
  const bool asks = at_terminal();
  if (!asks) TRY(rerun.find_secrets(false));
  if (const auto status = rerun.confirm()) return *status;
  on_interrupt(note_interrupt);
  auto done = rerun.find_secrets(asks);
  if (done) done = rerun.restore();
  if (!done) {
    const int status = report("rerun", done.error());
    return interrupted != 0 ? kInterrupted : status;
  }
  rerun.warn_about_data();
  if (interrupted != 0) {
    complain("rerun", "interrupted; " + rerun.directory().string() + " is restored, nothing ran");
    return kInterrupted;
  }
  return tl::unexpected(rerun.execute(config));
}

}  // namespace

int rerun_command(std::span<char* const> args) {
  RerunFlags flags;
  Arguments arguments(
      "rerun",
      "Restores a run's code, environment and variables in a new directory and runs "
      "its command again.",
      kRerunExamples);
  declare_rerun(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("rerun", rerun(flags, arguments.config_variable()));
}

}  // namespace corral::cli
