#include "server/core/artifact_place.h"

#include <fmt/core.h>

#include "core/ids.h"
#include "core/text.h"
#include "server/core/context.h"
#include "store/tables/artifacts.h"
#include "sys/socket.h"

namespace corral::server {
namespace {

using store::artifacts::ArtifactStore;
using store::page::ArtifactMark;

std::int64_t random_mark() {
  std::uint64_t bits = 0;
  for (const std::uint8_t byte : RunId::random().bytes) bits = bits << 8 | byte;
  return static_cast<std::int64_t>(bits >> 1);
}

// Directories are a machine's.
std::string place_name(const ArtifactStore& artifacts) {
  const std::string location = artifacts.location();
  return location.starts_with('/') ? sys::host_name() + ":" + location : location;
}

Result<std::optional<std::int64_t>> read_mark(ArtifactStore& artifacts) {
  auto reader = artifacts.open(kPlaceMark);
  if (!reader && reader.error().code == Code::kNotFound) return std::nullopt;
  if (!reader) return tl::unexpected(reader.error());
  std::string text;
  TRY((*reader)->read({.offset = 0, .length = 32}, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  return parse_int(trim(text));
}

Result<> write_mark(ArtifactStore& artifacts, std::int64_t mark) {
  const std::string text = std::to_string(mark) + "\n";
  const auto writer = TRY(artifacts.create(kPlaceMark, text.size()));
  TRY(writer->append(text));
  return writer->commit();
}

// The store's mark; `fresh` when it has none. Several servers may try at once.
Result<std::int64_t> agree(store::Store& store, std::int64_t fresh, const std::string& place) {
  return commit(store, [&](store::Writing& writing) {
    return store::page::agree_on_artifact_mark(writing, fresh, place);
  });
}

}  // namespace

Result<std::optional<std::string>> other_artifact_place(store::Store& store,
                                                        const store::Reader& reader,
                                                        ArtifactStore& artifacts) {
  const ArtifactMark known = TRY(in_snapshot(reader, store::page::artifact_mark));
  const auto here = TRY(read_mark(artifacts));
  if (known.mark) {
    return known.mark == here ? std::nullopt : std::optional(known.place);
  }
  const std::int64_t mark = TRY(agree(store, here.value_or(random_mark()), place_name(artifacts)));
  if (here == mark) return std::nullopt;
  TRY(write_mark(artifacts, mark));
  return std::nullopt;
}

std::string check_artifact_place(store::Store& store, const store::Reader& reader,
                                 ArtifactStore& artifacts) {
  const auto known = in_snapshot(reader, store::page::artifact_mark);
  if (known && !known->shared) return {};
  const auto other = other_artifact_place(store, reader, artifacts);
  if (!other)
    return fmt::format("cannot tell whether {} is the place of this store's artifacts: {}",
                       place_name(artifacts), other.error().message);
  if (!*other) return {};
  return fmt::format(
      "this server keeps artifacts at {}, but those of its database lie at {}: files that were "
      "logged there are not found here, nor the other way round. --artifacts must name one place "
      "for all servers of a database; to move it, copy the files, {} among them",
      place_name(artifacts), **other, kPlaceMark);
}

}  // namespace corral::server
