#include "sys/certificates.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace corral::sys {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kPlaces = {
    "etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and newer
    "etc/ssl/ca-bundle.pem",                             // openSUSE
    "etc/ssl/cert.pem",
};
constexpr std::array<std::string_view, 2> kCertifi = {"certifi/cacert.pem",
                                                      "pip/_vendor/certifi/cacert.pem"};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// lib/python3.*/site-packages below the prefix, in the order of their names.
std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(prefix / "lib", error)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const std::string_view name : {"site-packages", "dist-packages"})
      found.push_back(entry.path() / name);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::string find_certificates(const fs::path& program, const fs::path& root) {
  const char* const chosen = std::getenv("SSL_CERT_FILE");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const std::string_view place : kPlaces)
    if (is_file(root / place)) return (root / place).string();
  // PREFIX/lib/corral/corral-program or PREFIX/bin/corral-program.
  const fs::path folder = program.parent_path();
  const fs::path prefix =
      folder.filename() == "corral" ? folder.parent_path().parent_path() : folder.parent_path();
  for (const fs::path& packages : package_folders(prefix))
    for (const std::string_view file : kCertifi)
      if (is_file(packages / file)) return (packages / file).string();
  return {};
}

const std::string& certificate_file() {
  static const std::string found = [] {
    std::error_code error;
    return find_certificates(fs::read_symlink("/proc/self/exe", error));
  }();
  return found;
}

}  // namespace corral::sys
