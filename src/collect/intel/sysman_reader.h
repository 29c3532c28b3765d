// SysmanReader: metrics of one of Intel's GPUs from Level Zero that no other reader has declared
// for it.
//
// Parts of a card with several tiles: those of the whole card where there are any, else the tiles'
// together (energy, memory) or the first one (clock, temperature). A lost device ends its values,
// reported once. One thread; no allocation after open().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/intel/sysman.h"
#include "collect/news.h"
#include "collect/series.h"

namespace corral::collect::intel {

class SysmanReader {
 public:
  SysmanReader(const Sysman& sysman, std::string source, std::shared_ptr<News> news)
      : sysman_(&sysman), source_(std::move(source)), news_(std::move(news)) {}

  // `wanted`: metrics that the table has not got for this GPU. Each part is read once; one that
  // refuses is reported to the table.
  void open(ZeDevice device, const std::function<bool(std::string_view)>& wanted,
            SeriesTable& table);
  void sample(Group group, Row& row);

 private:
  struct Memory {
    std::vector<ZePart> modules;
    Column used = kNoColumn, free = kNoColumn, total = kNoColumn;
  };
  struct Part {
    ZePart part;
    Column column;
  };
  struct Parts {
    std::vector<ZePart> parts;
    Column column = kNoColumn;
  };
  using Wanted = std::function<bool(std::string_view)>;
  void open_memory(ZeDevice device, const Wanted& wanted, SeriesTable& table);
  void open_energy(ZeDevice device, const Wanted& wanted, SeriesTable& table);
  void open_clocks(ZeDevice device, const Wanted& wanted, SeriesTable& table);
  void open_temperatures(ZeDevice device, const Wanted& wanted, SeriesTable& table);
  void open_engines(ZeDevice device, const Wanted& wanted, SeriesTable& table);
  void refuse(std::string_view metric, ZeStatus status, SeriesTable& table) const;

  ZeStatus memory(std::uint64_t& free, std::uint64_t& size) const;
  ZeStatus energy(double& joules) const;
  ZeStatus clock(ZePart part, double& hertz) const;
  bool accept(ZeStatus status);

  const Sysman* sysman_;
  std::string source_;
  std::shared_ptr<News> news_;
  Memory memory_;
  Parts energy_;
  std::vector<Part> clocks_;
  std::vector<Part> temperatures_;
  std::vector<Part> engines_;
  bool lost_ = false;
};

}  // namespace corral::collect::intel
