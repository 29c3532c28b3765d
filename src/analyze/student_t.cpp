#include "analyze/student_t.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace corral::query {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostTerms = 10'000;

// The fraction of DLMF 8.17.22 by the modified Lentz method; quick for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double f = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    f *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double change = d * c;
    f *= change;
    if (std::abs(change - 1) < 1e-16) break;
  }
  return f;
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}

// I_x(a, b), with 1 - x given beside x because it may be too small to be told from 1.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, rest) / b;
}

// P(T > t) of t >= 0, without cancellation.
double upper_tail(double t, double n) {
  const double square = t * t;
  return incomplete_beta(n / 2, 0.5, n / (n + square), square / (n + square)) / 2;
}

double density(double t, double n) {
  return std::exp(log_gamma((n + 1) / 2) - log_gamma(n / 2) - (n + 1) / 2 * std::log1p(t * t / n)) /
         std::sqrt(n * std::numbers::pi);
}

// A&S 26.2.23 (to 4.5e-4) and 26.7.5, upper tail q < 1/2.
double start_of(double q, double n) {
  const double s = std::sqrt(-2 * std::log(q));
  const double z = s - (2.515517 + s * (0.802853 + s * 0.010328)) /
                           (1 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

// t > 0 with P(T > t) = q.
double upper_quantile(double q, double n) {
  double low = 0;
  double high = std::max(1.0, start_of(q, n));
  while (upper_tail(high, n) > q) {
    low = high;
    high *= 2;
  }
  double t = std::clamp(start_of(q, n), low, high);
  for (int i = 0; i < 200; ++i) {
    const double excess = upper_tail(t, n) - q;
    (excess > 0 ? low : high) = t;
    double next = t + excess / density(t, n);
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (std::abs(next - t) <= 1e-14 * next) return next;
    t = next;
  }
  return t;
}

}  // namespace

double student_t_cdf(double t, double degrees) {
  return t < 0 ? upper_tail(t, degrees) : 1 - upper_tail(t, degrees);
}

double student_t_quantile(double p, double degrees) {
  if (!(p > 0 && p < 1) || !(degrees >= 1)) return kNone;
  if (p == 0.5) return 0;
  const double q = std::min(p, 1 - p);
  double t = 0;
  if (degrees == 1) {
    t = 1 / std::tan(std::numbers::pi * q);
  } else if (degrees == 2) {
    t = (1 - 2 * q) / std::sqrt(2 * q * (1 - q));
  } else {
    t = upper_quantile(q, degrees);
  }
  return p < 0.5 ? -t : t;
}

double mean_interval(double standard_deviation, unsigned n, double confidence) {
  if (n < 2 || !(confidence > 0 && confidence < 1)) return kNone;
  return student_t_quantile(0.5 + confidence / 2, n - 1) * standard_deviation /
         std::sqrt(static_cast<double>(n));
}

}  // namespace corral::query
