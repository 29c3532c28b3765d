// Student's t distribution: the quantile that confidence intervals of means need.
//
// Degrees of freedom are real and at least 1 (Welch's are fractions). Boost.Math computes both
// functions. Pure functions, any thread.
#pragma once

namespace corral::analyze {

// P(T <= t).
double student_t_cdf(double t, double degrees);

// t with P(T <= t) = p; NaN unless 0 < p < 1 and degrees >= 1.
double student_t_quantile(double p, double degrees);

// Half the width of the two-sided interval of a mean: t(1/2 + confidence / 2, n - 1) * s / sqrt(n).
// NaN for n < 2 or a confidence outside (0, 1).
double mean_interval(double standard_deviation, unsigned n, double confidence);

}  // namespace corral::analyze
