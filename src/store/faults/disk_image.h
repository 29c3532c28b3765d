// Disk: the possible contents of a disk after a power cut, computed from a record of writes and
// syncs.
//
// Model: a sync makes a file's contents and name safe. A cut may keep any part of the later writes:
// nothing, all, a prefix torn at 512 bytes, or each sector in any of the states that it went
// through, some of them full of noise. File names change in order, contents in none. Sizes change
// in order too. Bytes next to a write are not harmed (SQLITE_IOCAP_POWERSAFE_OVERWRITE, which
// SQLite assumes of every disk). One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/faults/power_cut_vfs.h"

namespace corral::store::faults {

enum class Cut : std::uint8_t { kDropped, kKept, kTorn, kScattered, kNoise };
inline constexpr int kCuts = 5;

using Random = std::mt19937_64;
// File names and contents.
using DiskImage = std::map<std::string, std::vector<std::uint8_t>>;

class Disk {
 public:
  // A directory with these empty files, known to be there for good.
  explicit Disk(const std::vector<std::string>& files);
  // Events in their order; each must outlive the disk.
  void apply(const DiskEvent& event);
  [[nodiscard]] DiskImage after(Cut cut, Random& random) const;

 private:
  struct Inode {
    std::vector<std::uint8_t> safe;
    std::vector<const DiskEvent*> pending;
  };
  struct NameChange {
    std::string name;
    std::shared_ptr<Inode> inode;  // null: deleted
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  void settle_names();
  static void apply_name(Names& names, const NameChange& change);
  static std::vector<std::uint8_t> contents(const Inode& inode, Cut cut, Random& random);

  Names safe_names_, names_;
  std::vector<NameChange> pending_names_;
};

// Replaces the directory by one with these files.
void write_image(const DiskImage& image, const std::filesystem::path& directory);

}  // namespace corral::store::faults
