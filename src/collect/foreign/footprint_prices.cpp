#include "collect/foreign/footprint_prices.h"

namespace corral::collect::foreign {
namespace {

bool is_price(const std::optional<double>& value) {
  constexpr double kMost = 1e9;
  return !value || (*value >= 0 && *value <= kMost);
}

}  // namespace

Result<> check(const FootprintPrices& prices) {
  const auto wrong = [](const char* text) { return fail(Code::kInvalidArgument, text); };
  constexpr double kMostPue = 100;
  if (prices.pue && !(*prices.pue >= 1 && *prices.pue <= kMostPue))
    return wrong("pue: must be at least 1, and at most 100");
  if (!is_price(prices.intensity))
    return wrong("intensity-g-per-kwh: must be at least 0, and at most 1e9");
  if (prices.intensity && prices.intensity_source.empty())
    return wrong("intensity-source: missing; name where the intensity is from");
  if (prices.intensity && !prices.intensity_year)
    return wrong("intensity-year: missing; name the year of the intensity");
  if (prices.intensity_year && !(*prices.intensity_year >= 1900 && *prices.intensity_year <= 9999))
    return wrong("intensity-year: expected a year, e.g. 2024");
  if (!is_price(prices.per_kwh)) return wrong("price-per-kwh: must be at least 0, and at most 1e9");
  if (!is_price(prices.per_hour))
    return wrong("price-per-hour: must be at least 0, and at most 1e9");
  if ((prices.per_kwh || prices.per_hour) && prices.currency.empty())
    return wrong("currency: missing, e.g. EUR");
  return {};
}

std::vector<std::pair<std::string, Json>> price_facts(const FootprintPrices& prices) {
  std::vector<std::pair<std::string, Json>> facts;
  for (const auto& [key, number] : {std::pair("footprint.pue", prices.pue),
                                    std::pair("footprint.intensity_g_per_kwh", prices.intensity),
                                    std::pair("footprint.intensity_year", prices.intensity_year),
                                    std::pair("footprint.price_per_kwh", prices.per_kwh),
                                    std::pair("footprint.price_per_hour", prices.per_hour)})
    if (number) facts.emplace_back(key, Json(*number));
  for (const auto& [key, text] : {std::pair("footprint.intensity_source", prices.intensity_source),
                                  std::pair("footprint.currency", prices.currency)})
    if (!text.empty()) facts.emplace_back(key, Json(text));
  return facts;
}

}  // namespace corral::collect::foreign
