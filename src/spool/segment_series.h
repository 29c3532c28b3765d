// SeriesTable: the names of one session and their numbers, for the segment writer.
//
// Memory comes from anonymous mappings, never from the heap: a forked child of a process with
// threads may call the writer while the heap's lock state is unknown. Entries stay where they are
// until the table is destroyed. One caller at a time (the writer's mutex), except that
// `declared_in` is read by every thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corral::spool {

struct Series {
  std::atomic<std::uint32_t>
      declared_in;   // index + 1 of the last segment that holds its declaration
  std::uint32_t id;  // from 1
  std::uint32_t hash;
  std::uint32_t length;
  char name[1];  // `length` bytes
};

class SeriesTable {
 public:
  SeriesTable() = default;
  ~SeriesTable();
  SeriesTable(const SeriesTable&) = delete;
  SeriesTable& operator=(const SeriesTable&) = delete;

  // Null when the limit is reached or the system has no memory.
  Series* find_or_add(const char* name, std::size_t length);

 private:
  struct Block;

  Series* make(const char* name, std::size_t length, std::uint32_t hash);
  bool grow();
  void* allocate(std::size_t bytes);

  Series** slots_ = nullptr;  // open addressing, a power of two
  std::size_t capacity_ = 0;
  std::uint32_t count_ = 0;
  Block* blocks_ = nullptr;
};

// Zeroed pages of the process's own, or null.
void* map_private(std::size_t bytes);

}  // namespace corral::spool
