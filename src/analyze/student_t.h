// Student's t distribution: the quantile that confidence intervals of means need.
//
// Degrees of freedom are real and at least 1 (Welch's are fractions). The distribution function is
// the regularized incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22,
// modified Lentz); the quantile is Newton's iteration on it inside a bracket, started from the
// normal quantile (Abramowitz & Stegun 26.2.23) by the expansion A&S 26.7.5; one and two degrees of
// freedom are closed forms. Relative error of the quantile below 1e-9 for p in [1e-9, 1 - 1e-9].
// Pure functions, any thread.
#pragma once

namespace corral::query {

// P(T <= t).
double student_t_cdf(double t, double degrees);

// t with P(T <= t) = p; NaN unless 0 < p < 1 and degrees >= 1.
double student_t_quantile(double p, double degrees);

// Half the width of the two-sided interval of a mean: t(1/2 + confidence / 2, n - 1) * s / sqrt(n).
// NaN for n < 2 or a confidence outside (0, 1).
double mean_interval(double standard_deviation, unsigned n, double confidence);

}  // namespace corral::query
