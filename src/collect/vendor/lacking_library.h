// For tests: copies of a fake library that lack a function.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/fake/fake_driver.h"
#include "sys/file.h"

namespace corral::collect::vendor {

// Path of a copy whose symbol table has lost that name. Copies are kept until the end: the loader
// knows libraries by their inode, and would take a new file with an old one's for the old one.
inline const std::string& library_without(std::string_view function, const std::string& library) {
  static std::vector<std::unique_ptr<nvidia::ScratchFile>> copies;
  std::string binary = sys::read_file(library).value();
  const std::string name = '\0' + std::string(function) + '\0';
  std::size_t found = 0;
  for (auto at = binary.find(name); at != std::string::npos; at = binary.find(name, at + 1)) {
    binary[at + 1] = 'x';
    ++found;
  }
  EXPECT_GT(found, 0U) << function;
  copies.push_back(std::make_unique<nvidia::ScratchFile>(binary));
  return copies.back()->path();
}

}  // namespace corral::collect::vendor
