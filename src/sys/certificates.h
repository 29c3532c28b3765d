// Finds the certificate authorities that TLS trusts: a library that was linked statically knows
// only where the distribution keeps them on which it was built.
#pragma once

#include <filesystem>
#include <string>

namespace corral::sys {

// Returns the file with the certificates of the authorities, or "" where the library's own default
// holds: $SSL_CERT_FILE; else the first file that exists of the places of Linux distributions
// (below `root`, which is / but for tests) and of Python's certifi in the environment whose bin/ or
// lib/corral/ holds `program`.
std::string find_certificates(const std::filesystem::path& program,
                              const std::filesystem::path& root = "/");

// The same for this process's program; looked for once. Thread-safe.
const std::string& certificate_file();

}  // namespace corral::sys
