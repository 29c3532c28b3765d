// The names that corral.toml may hold, and which of them count from a file that nobody trusts.
//
// The one table of them: an option that the file may give and that is missing here fails the first
// parse of its command. An option counts from a trusted file alone if it executes something, names
// a server, store, spool, token, file or address, or lets data go (a limit, a removal, a question
// that is answered beforehand).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

enum class Counts : std::uint8_t { kAlways, kWhenTrusted };

// nullopt: no option has this name.
std::optional<Counts> option_counts(std::string_view option);
// For [KIND] and [KIND.NAME], sections that name sources to record. nullopt: no such kind.
std::optional<Counts> source_counts(std::string_view kind);
// True if `section` is the name of a command.
bool is_command_section(std::string_view section);

std::vector<std::string_view> option_names();
std::vector<std::string_view> source_kinds();
// Commands and kinds of sources.
std::vector<std::string_view> section_names();

}  // namespace corral::cli
