#include "cli/config_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "cli/answers.h"
#include "core/sha256.h"
#include "core/text.h"
#include "sys/private_directory.h"
#include "sys/process.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "corral.toml";
constexpr const char* kRecord = "trusted";
constexpr const char* kRecordLock = "trusted.lock";
constexpr std::size_t kConfigBytes = 1u << 20;
constexpr std::size_t kHashDigits = 64;

Result<ConfigFile> read_config(const fs::path& path, ConfigOrigin origin) {
  const sys::Fd file = TRY(sys::open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno(path.string(), errno);
  // A named one may be a pipe.
  if (origin != ConfigOrigin::kNamed && !S_ISREG(info.st_mode))
    return fail(Code::kInvalidArgument, path.string() + ": not a regular file");
  ConfigFile config{.path = path, .text = {}, .origin = origin, .trusted = true, .advice = {}};
  config.text = TRY(sys::read_all(file, path, kConfigBytes));
  const auto own = sys::open_own_file(path);
  if (origin == ConfigOrigin::kDirectory || own || !S_ISREG(info.st_mode)) return config;
  if (origin == ConfigOrigin::kNamed) {
    fmt::print(stderr, "corral: {}; it counts, because it was named\n",
               printable(own.error().message));
    return config;
  }
  config.trusted = false;
  config.advice = own.error().message + "; or name it with --config";
  return config;
}

std::optional<std::string> named_file(std::span<char* const> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    if (word == "--config" && i + 1 < args.size()) return args[i + 1];
    if (word.starts_with("--config=")) return std::string(word.substr(9));
  }
  const std::string chosen = sys::own_variable("CORRAL_CONFIG");
  return chosen.empty() ? std::nullopt : std::optional(chosen);
}

// Returns the directory of the record of trusted files.
Result<fs::path> record_directory() {
  const fs::path state = sys::base_directory("XDG_STATE_HOME", ".local/state");
  if (state.empty())
    return fail(Code::kUnavailable,
                "neither $XDG_STATE_HOME nor $HOME is set: trusted files cannot be remembered");
  return state / "corral";
}

}  // namespace

Result<std::vector<ConfigFile>> find_config_files(std::span<char* const> args) {
  std::vector<ConfigFile> files;
  if (const auto named = named_file(args)) {
    files.push_back(TRY(read_config(*named, ConfigOrigin::kNamed)));
    return files;
  }
  std::error_code error;
  const fs::path base = sys::base_directory("XDG_CONFIG_HOME", ".config");
  const fs::path own = base / "corral" / kName;
  if (!base.empty() && fs::exists(own, error))
    files.push_back(TRY(read_config(own, ConfigOrigin::kUser)));
  const fs::path here = fs::path(sys::own_variable(kConfigFolder)) / kName;
  if (fs::exists(here, error) && (files.empty() || !fs::equivalent(here, own, error)))
    files.push_back(TRY(read_directory_config(here)));
  return files;
}

Result<ConfigFile> read_directory_config(const fs::path& path) {
  ConfigFile file = TRY(read_config(path, ConfigOrigin::kDirectory));
  file.trusted = false;
  const auto name = trusted_name(path);
  if (!name) {
    file.advice = name.error().message + "; name the file with --config";
    return file;
  }
  const TrustedFiles trusted = read_trusted();
  const auto known = trusted.find(*name);
  file.trusted = known != trusted.end() && known->second == content_hash(file.text);
  file.advice = "corral trust shows and trusts it";
  return file;
}

TrustedFiles read_trusted() {
  TrustedFiles files;
  const auto path = record_directory();
  const auto record = path ? sys::PrivateDirectory::open(*path) : tl::unexpected(path.error());
  const auto text = record ? record->read_file(kRecord) : tl::unexpected(record.error());
  if (!text) return files;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.size() > kHashDigits + 1 && line[kHashDigits] == ' ')
      files.emplace(line.substr(kHashDigits + 1), line.substr(0, kHashDigits));
  }
  return files;
}

Result<> change_trusted(const std::function<void(TrustedFiles&)>& change) {
  const fs::path path = TRY(record_directory());
  const sys::PrivateDirectory record = TRY(sys::PrivateDirectory::make(path));
  // Other processes that trust a file meanwhile wait.
  const sys::Fd lock = TRY(record.open_file(kRecordLock, O_RDWR | O_CREAT));
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail_errno((path / kRecordLock).string(), errno);
  TrustedFiles files = read_trusted();
  change(files);
  std::string text;
  for (const auto& [name, hash] : files) text += fmt::format("{} {}\n", hash, name);
  return record.replace_file(kRecord, text);
}

Result<std::string> trusted_name(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  const fs::path folder = fs::canonical(whole.parent_path(), error);
  if (error) return fail_errno(path.string(), error.value());
  std::string name = (folder / whole.filename()).string();
  if (name.find('\n') != std::string::npos)
    return fail(Code::kInvalidArgument, "a path with a line feed cannot be trusted");
  return name;
}

std::string content_hash(std::string_view text) { return hex(sha256(text)); }

Result<> trust(ConfigFile& file) {
  const std::string name = TRY(trusted_name(file.path));
  TRY(change_trusted([&](TrustedFiles& files) { files[name] = content_hash(file.text); }));
  file.trusted = true;
  return {};
}

void print_config(const ConfigFile& file, std::FILE* to) {
  fmt::print(to, "{}:\n", printable(file.path.string()));
  std::string_view text = file.text;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) fmt::print(to, "  {}\n", printable(line));
}

bool ask_to_trust(ConfigFile& file, const std::vector<std::string>& held) {
  print_config(file, stderr);
  fmt::print(stderr, "Until you trust this file, these do not count: {}\nTrust it? [y/N] ",
             printable(join(held, ", ")));
  if (!read_yes()) return false;
  if (const auto trusted = trust(file); !trusted) complain("trust", trusted.error().message);
  return true;
}

}  // namespace corral::cli
