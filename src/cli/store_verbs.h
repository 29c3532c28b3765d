// The verbs of `corral store`, one function each, one table (store.cpp). `args` without the verb.
#pragma once

#include <span>

namespace corral::cli {

int store_check(std::span<char* const> args);
int store_stats(std::span<char* const> args);
int store_backup(std::span<char* const> args);
int store_load(std::span<char* const> args);
int store_migrate(std::span<char* const> args);
int store_rebuild(std::span<char* const> args);
int store_gc(std::span<char* const> args);
int store_prune(std::span<char* const> args);

}  // namespace corral::cli
