// SPDX-License-Identifier: Apache-2.0
// What NVRTC has built in, for clang++ without the headers of CUDA: the words and functions that
// kernels' text uses, as attributes and as clang's functions for NVPTX. Functions of libdevice are
// declared alone: PTX may call what another module has.
#pragma once

#include <string_view>

namespace graphc::core::testing {

constexpr std::string_view clang_prelude() {
  return R"(#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define REGISTER(NAME, OF)                                                   \
  struct NAME##_t {                                                          \
    __declspec(property(get = get_x)) unsigned x;                            \
    __declspec(property(get = get_y)) unsigned y;                            \
    __declspec(property(get = get_z)) unsigned z;                            \
    static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_##OF##_x(); } \
    static __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_##OF##_y(); } \
    static __device__ unsigned get_z() { return __nvvm_read_ptx_sreg_##OF##_z(); } \
  };                                                                         \
  extern const __device__ __attribute__((weak)) NAME##_t NAME;
REGISTER(threadIdx, tid)
REGISTER(blockIdx, ctaid)
REGISTER(blockDim, ntid)
REGISTER(gridDim, nctaid)
#define BUILTIN inline __device__ __attribute__((always_inline))
BUILTIN int __syncthreads_or(int vote) { return __nvvm_bar0_or(vote); }
BUILTIN void __threadfence() { __nvvm_membar_gl(); }
BUILTIN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
BUILTIN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
BUILTIN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
BUILTIN unsigned __umulhi(unsigned x, unsigned y) { return __nvvm_mulhi_ui(x, y); }
BUILTIN unsigned atomicAdd(unsigned* at, unsigned x) {
  return (unsigned)__nvvm_atom_add_gen_i((int*)at, (int)x);
}
BUILTIN unsigned atomicMax(unsigned* at, unsigned x) { return __nvvm_atom_max_gen_ui(at, x); }
BUILTIN unsigned long long atomicMin(unsigned long long* at, unsigned long long x) {
  return __nvvm_atom_min_gen_ull(at, x);
}
BUILTIN void __syncwarp(unsigned mask) { __nvvm_bar_warp_sync(mask); }
BUILTIN float __shfl_sync(unsigned mask, float x, int lane) {
  return __nvvm_shfl_sync_idx_f32(mask, x, lane, 31);
}
BUILTIN float __shfl_xor_sync(unsigned mask, float x, int lanes) {
  return __nvvm_shfl_sync_bfly_f32(mask, x, lanes, 31);
}
BUILTIN int __shfl_down_sync(unsigned mask, int x, int lanes) {
  return __nvvm_shfl_sync_down_i32(mask, x, lanes, 31);
}
BUILTIN float __shfl_down_sync(unsigned mask, float x, int lanes) {
  return __nvvm_shfl_sync_down_f32(mask, x, lanes, 31);
}
BUILTIN long long __shfl_down_sync(unsigned mask, long long x, int lanes) {
  const int low = __nvvm_shfl_sync_down_i32(mask, (int)x, lanes, 31);
  const int high = __nvvm_shfl_sync_down_i32(mask, (int)(x >> 32), lanes, 31);
  return (long long)high << 32 | (unsigned)low;
}
BUILTIN double __shfl_down_sync(unsigned mask, double x, int lanes) {
  return __longlong_as_double(__shfl_down_sync(mask, __builtin_bit_cast(long long, x), lanes));
}
BUILTIN int min(int x, int y) { return x < y ? x : y; }
BUILTIN int max(int x, int y) { return x < y ? y : x; }
BUILTIN long long min(long long x, long long y) { return x < y ? x : y; }
BUILTIN bool isinf(float x) { return __builtin_isinf(x); }
BUILTIN bool isinf(double x) { return __builtin_isinf(x); }
#define OF_ONE(NAME)                        \
  extern "C" __device__ double NAME(double); \
  extern "C" __device__ float NAME##f(float);
#define OF_TWO(NAME)                                \
  extern "C" __device__ double NAME(double, double); \
  extern "C" __device__ float NAME##f(float, float);
OF_ONE(acos) OF_ONE(asin) OF_ONE(atan) OF_ONE(ceil) OF_ONE(cos) OF_ONE(cosh) OF_ONE(erf)
OF_ONE(exp) OF_ONE(expm1) OF_ONE(fabs) OF_ONE(floor) OF_ONE(log) OF_ONE(log1p) OF_ONE(rint)
OF_ONE(rsqrt) OF_ONE(sin) OF_ONE(sinh) OF_ONE(sqrt) OF_ONE(tan) OF_ONE(tanh) OF_ONE(trunc)
OF_TWO(atan2) OF_TWO(copysign) OF_TWO(fmax) OF_TWO(fmin) OF_TWO(fmod) OF_TWO(pow)
extern "C" __device__ double fma(double, double, double);
extern "C" __device__ float fmaf(float, float, float);
)";
}

}  // namespace graphc::core::testing
