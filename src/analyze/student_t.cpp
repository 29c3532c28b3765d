#include "analyze/student_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace corral::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// NaN or infinity instead of an exception.
using Policy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
using StudentT = boost::math::students_t_distribution<double, Policy>;

}  // namespace

double student_t_cdf(double t, double degrees) { return boost::math::cdf(StudentT(degrees), t); }

double student_t_quantile(double p, double degrees) {
  if (!(p > 0 && p < 1) || !(degrees >= 1)) return kNone;
  return boost::math::quantile(StudentT(degrees), p);
}

double mean_interval(double standard_deviation, unsigned n, double confidence) {
  if (n < 2 || !(confidence > 0 && confidence < 1)) return kNone;
  return student_t_quantile(0.5 + confidence / 2, n - 1) * standard_deviation /
         std::sqrt(static_cast<double>(n));
}

}  // namespace corral::analyze
