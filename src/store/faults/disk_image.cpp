#include "store/faults/disk_image.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>

namespace corral::store::faults {
namespace {

constexpr std::int64_t kSector = 512;
using Bytes = std::vector<std::uint8_t>;
using Kind = DiskEvent::Kind;

std::size_t pick(Random& random, std::size_t count) { return random() % count; }

// Part of a write, within one sector.
struct Piece {
  std::int64_t offset = 0;
  const std::uint8_t* data = nullptr;
  std::int64_t size = 0;
};

void for_each_piece(const DiskEvent& write, const std::function<void(const Piece&)>& take) {
  const auto end = write.offset + static_cast<std::int64_t>(write.bytes.size());
  for (std::int64_t at = write.offset; at < end;) {
    const std::int64_t next = std::min(end, (at / kSector + 1) * kSector);
    take({.offset = at, .data = write.bytes.data() + (at - write.offset), .size = next - at});
    at = next;
  }
}

void put(Bytes& file, const Piece& piece) {
  const auto end = static_cast<std::size_t>(piece.offset + piece.size);
  if (file.size() < end) file.resize(end);
  std::copy_n(piece.data, piece.size, file.begin() + piece.offset);
}

void apply_whole(Bytes& file, const DiskEvent& event) {
  if (event.kind == Kind::kTruncate)
    file.resize(static_cast<std::size_t>(event.offset));
  else
    for_each_piece(event, [&](const Piece& piece) { put(file, piece); });
}

std::size_t size_after(std::size_t size, const DiskEvent& event) {
  const auto offset = static_cast<std::size_t>(event.offset);
  return event.kind == Kind::kTruncate ? offset : std::max(size, offset + event.bytes.size());
}

// Each sector at any of the states that these writes brought it through.
void scatter(Bytes& file, std::span<const DiskEvent* const> writes, bool noise, Random& random) {
  std::map<std::int64_t, std::vector<Piece>> sectors;
  for (const DiskEvent* write : writes) {
    for_each_piece(*write,
                   [&](const Piece& piece) { sectors[piece.offset / kSector].push_back(piece); });
  }
  for (const auto& [sector, pieces] : sectors) {
    const std::size_t kept = pick(random, pieces.size() + 1);
    for (std::size_t i = 0; i < kept; ++i) put(file, pieces[i]);
    if (!noise || pick(random, 8) != 0) continue;
    const Piece& last = pieces.back();
    Bytes bytes(static_cast<std::size_t>(last.size));
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
    put(file, {.offset = last.offset, .data = bytes.data(), .size = last.size});
  }
}

Bytes scattered(const Bytes& safe, std::span<const DiskEvent* const> pending, bool noise,
                Random& random) {
  Bytes file = safe;
  const std::size_t sized = pick(random, pending.size() + 1);  // changes of size that were kept
  std::size_t size = safe.size();
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= pending.size(); ++i) {
    if (i < sized) size = size_after(size, *pending[i]);
    if (i < pending.size() && pending[i]->kind != Kind::kTruncate) continue;
    scatter(file, pending.subspan(begin, i - begin), noise, random);
    begin = i + 1;
    if (i >= sized) break;  // a later truncation did not happen, nor did what follows it
    file.resize(static_cast<std::size_t>(pending[i]->offset));
  }
  file.resize(size);
  return file;
}

Bytes torn(const Bytes& safe, std::span<const DiskEvent* const> pending, Random& random) {
  Bytes file = safe;
  const std::size_t cut = pick(random, pending.size());
  for (std::size_t i = 0; i < cut; ++i) apply_whole(file, *pending[i]);
  if (pending[cut]->kind == Kind::kTruncate) return file;
  for_each_piece(*pending[cut], [&](const Piece& piece) {
    if (pick(random, 2) == 0) put(file, piece);
  });
  return file;
}

}  // namespace

Disk::Disk(const std::vector<std::string>& files) {
  for (const std::string& file : files) safe_names_[file] = std::make_shared<Inode>();
  names_ = safe_names_;
}

void Disk::apply_name(Names& names, const NameChange& change) {
  if (change.inode)
    names[change.name] = change.inode;
  else
    names.erase(change.name);
}

void Disk::settle_names() {
  safe_names_ = names_;
  pending_names_.clear();
}

void Disk::apply(const DiskEvent& event) {
  if (event.kind == Kind::kCreate || event.kind == Kind::kDelete) {
    const bool made = event.kind == Kind::kCreate;
    pending_names_.push_back(
        {.name = event.file, .inode = made ? std::make_shared<Inode>() : nullptr});
    apply_name(names_, pending_names_.back());
    if (event.directory_synced) settle_names();
    return;
  }
  Inode& inode = *names_.at(event.file);
  if (event.kind == Kind::kWrite || event.kind == Kind::kTruncate) {
    inode.pending.push_back(&event);
    return;
  }
  if (event.kind == Kind::kSync) {
    for (const DiskEvent* pending : inode.pending) apply_whole(inode.safe, *pending);
    settle_names();
  }
  inode.pending.clear();
}

Bytes Disk::contents(const Inode& inode, Cut cut, Random& random) {
  if (inode.pending.empty()) return inode.safe;
  Bytes file = inode.safe;
  switch (cut) {
    case Cut::kDropped:
      return file;
    case Cut::kKept:
      for (const DiskEvent* event : inode.pending) apply_whole(file, *event);
      return file;
    case Cut::kTorn:
      return torn(inode.safe, inode.pending, random);
    case Cut::kScattered:
    case Cut::kNoise:
      break;
  }
  return scattered(inode.safe, inode.pending, cut == Cut::kNoise, random);
}

DiskImage Disk::after(Cut cut, Random& random) const {
  Names names = safe_names_;
  std::size_t kept = pick(random, pending_names_.size() + 1);
  if (cut == Cut::kDropped) kept = 0;
  if (cut == Cut::kKept) kept = pending_names_.size();
  for (std::size_t i = 0; i < kept; ++i) apply_name(names, pending_names_[i]);
  DiskImage image;
  for (const auto& [name, inode] : names) image[name] = contents(*inode, cut, random);
  return image;
}

void write_image(const DiskImage& image, const std::filesystem::path& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const auto& [name, bytes] : image) {
    std::ofstream out(directory / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
}

}  // namespace corral::store::faults
