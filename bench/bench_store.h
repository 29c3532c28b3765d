// The benchmarks of corral_bench_store; each reads its flags, prints one line of JSON and leaves
// its store in place when it was named by --store.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "flags.h"
#include "store_access.h"
#include "workload.h"

namespace corral::bench {

// The stores and files of one invocation; a temporary directory goes with it unless --keep 1.
class Bench {
 public:
  Bench(std::string name, Flags flags);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Flags flags;
  std::filesystem::path work;  // for generated frames, and for the store unless --store names one
  StoreSpec store;
  // Flags --runs --series --hz --mix --seed over these defaults.
  Workload workload(Workload fallback);
  void report(std::string name, Json value);
  // Prints what was reported.
  void print();

 private:
  bool keep_ = false;
  Json out_{Json::Object{}};
};

// Writes a whole workload, some runs at a time; what it costs is not measured. Times of one run are
// within `rows / hz` seconds from kRunBegin.
struct Load {
  Workload workload;
  std::size_t rows = 0;
  std::size_t flush_rows = 10;
};
void load(store::Store& store, const Load& load);
inline constexpr std::int64_t kRunBegin = 1'767'225'600'000'000'000;

void report_sizes(Bench& bench, store::Store* store, double points);

void bench_ingest(Bench& bench);
void bench_captured(Bench& bench);
void bench_pack(Bench& bench);
void bench_shapes(Bench& bench);
void bench_dump(Bench& bench);
void bench_chart(Bench& bench);
void bench_page(Bench& bench);
void bench_group(Bench& bench);
void bench_small(Bench& bench);
void bench_open(Bench& bench);
void bench_live(Bench& bench);

}  // namespace corral::bench
