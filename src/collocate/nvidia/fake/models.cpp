#include "collocate/nvidia/fake/models.h"

namespace corral::collocate::nvidia::fake {
namespace {

std::vector<Placement> at(const std::vector<unsigned>& starts, unsigned size) {
  std::vector<Placement> placements;
  placements.reserve(starts.size());
  for (const unsigned start : starts) placements.push_back({start, size});
  return placements;
}

// GB of one, two, four and eight slices of memory, as in the profiles' names.
struct Sizes {
  unsigned one, two, four, eight;
};

std::vector<ModelProfile> profiles(const Sizes& gb) {
  // As an H100 has them.
  const auto mib = [](unsigned size, unsigned reserved = 256) {
    return static_cast<unsigned long long>(size) * 1024 - reserved;
  };
  const auto name = [](const char* slices, unsigned size, const char* suffix = "") {
    return std::string(slices) + "g." + std::to_string(size) + "gb" + suffix;
  };
  return {
      {0, 19, name("1", gb.one), 1, 7, mib(gb.one), at({0, 1, 2, 3, 4, 5, 6}, 1)},
      {1, 14, name("2", gb.two), 2, 3, mib(gb.two, 384), at({0, 2, 4}, 2)},
      {2, 9, name("3", gb.four), 3, 2, mib(gb.four, 512), at({0, 4}, 4)},
      {3, 5, name("4", gb.four), 4, 1, mib(gb.four, 512), at({0}, 4)},
      {4, 0, name("7", gb.eight), 7, 1, mib(gb.eight, 768), at({0}, 8)},
      {7, 20, name("1", gb.one, "+me"), 1, 1, mib(gb.one), at({0, 1, 2, 3, 4, 5, 6}, 1)},
      {9, 15, name("1", gb.two), 1, 4, mib(gb.two, 384), at({0, 2, 4, 6}, 2)},
  };
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"a100-40", "NVIDIA A100-SXM4-40GB", 40960, 400000, 100000, 1410, 1215,
       profiles({5, 10, 20, 40})},
      {"a100-80", "NVIDIA A100-SXM4-80GB", 81920, 400000, 100000, 1410, 1593,
       profiles({10, 20, 40, 80})},
      {"h100", "NVIDIA H100 80GB HBM3", 81559, 700000, 200000, 1980, 2619,
       profiles({10, 20, 40, 80})},
      {"h200", "NVIDIA H200", 144384, 700000, 200000, 1980, 3201, profiles({18, 35, 71, 141})},
      {"t4", "Tesla T4", 15360, 70000, 60000, 1590, 5001, {}},
  };
  return all;
}

}  // namespace

const Model* find_model(std::string_view key) {
  for (const Model& model : models())
    if (model.key == key) return &model;
  return nullptr;
}

}  // namespace corral::collocate::nvidia::fake
