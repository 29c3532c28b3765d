// The configuration files that count, each read once, and which of them are trusted.
//
// A file that the user named (--config, $CORRAL_CONFIG) or keeps in $XDG_CONFIG_HOME/corral is the
// user's word. ./corral.toml may come with a directory that somebody else made: it is trusted when
// the user said so of its path and its content (`corral trust`). docs/security.md is the user's
// side of it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::cli {

enum class ConfigOrigin : std::uint8_t { kUser, kDirectory, kNamed };

struct ConfigFile {
  std::filesystem::path path;  // as messages name it
  std::string text;            // exactly the bytes that were hashed
  ConfigOrigin origin = ConfigOrigin::kUser;
  bool trusted = false;
  std::string advice;  // the command that makes it trusted
};

// The files of a command with these options, the weakest first: the one that was named alone, else
// the user's own and ./corral.toml.
Result<std::vector<ConfigFile>> find_config_files(std::span<char* const> args);
// One that may be trusted by its path and content.
Result<ConfigFile> read_directory_config(const std::filesystem::path& path);

// Variable that names the folder whose corral.toml counts in place of the working directory's: a
// scheduler's supervisors work elsewhere.
inline constexpr const char* kConfigFolder = "CORRAL_CONFIG_FOLDER";

// Absolute path -> SHA-256 of the content that is trusted there.
using TrustedFiles = std::map<std::string, std::string>;
// Nothing when there is no record that only this user can write.
TrustedFiles read_trusted();
// Changes the record; two processes that do so at once both succeed.
Result<> change_trusted(const std::function<void(TrustedFiles&)>& change);
// Its key in TrustedFiles: the directory is resolved, the file's own name stays.
Result<std::string> trusted_name(const std::filesystem::path& path);
std::string content_hash(std::string_view text);
// Writes down that the file is trusted as it was read.
Result<> trust(ConfigFile& file);

void print_config(const ConfigFile& file, std::FILE* to);
// Shows the file and asks if it is trusted; `held` names the keys that count only after a yes,
// which is remembered. An end of the input is a no; Ctrl-C ends the process.
bool ask_to_trust(ConfigFile& file, const std::vector<std::string>& held);

}  // namespace corral::cli
