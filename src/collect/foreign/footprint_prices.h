// The price of a machine's energy, in CO2e and money: section [footprint] of corral.toml. It is
// recorded as facts "footprint.*" of the run, so that every later answer about it uses the same
// values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace corral::collect::foreign {

struct FootprintPrices {
  std::optional<double> pue;        // power usage effectiveness of the data centre, at least 1
  std::optional<double> intensity;  // g CO2e per kWh; needs a source and a year
  std::string intensity_source;
  std::optional<double> intensity_year;
  std::optional<double> per_kwh, per_hour;  // energy; the machine's time
  std::string currency;                     // both prices'; "EUR"
};

// Names the option that is wrong: "pue: ...".
Result<> check(const FootprintPrices& prices);

// The values that were given, by the names of their facts: "footprint.pue".
std::vector<std::pair<std::string, Json>> price_facts(const FootprintPrices& prices);

}  // namespace corral::collect::foreign
