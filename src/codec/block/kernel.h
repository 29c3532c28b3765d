// Loops over a vector that are compiled twice: for every x86-64 and for those with AVX2, chosen
// when the program runs.
//
// A kernel is a function marked CORRAL_KERNEL that calls nothing but kernels; run<kernel>(...)
// calls the fitting copy. Both copies give the same bits: no kernel may depend on fused
// multiply-add.
#pragma once

#define CORRAL_KERNEL [[gnu::always_inline]] inline

namespace corral::codec {

#if defined(__x86_64__)
template <auto kKernel, class... Arguments>
[[gnu::target("avx2")]] auto run_wide(Arguments... arguments) {
  return kKernel(arguments...);
}
#endif

template <auto kKernel, class... Arguments>
auto run(Arguments... arguments) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return run_wide<kKernel>(arguments...);
#endif
  return kKernel(arguments...);
}

}  // namespace corral::codec
