"""A load on GPU 0 by the CUDA driver's library alone: python -m gpu.load KIND SECONDS [MIB]

KIND: `sm` multiplies and adds on all SMs, `dram` copies within the GPU, `h2d` and `d2h` copy between pinned memory and
the GPU, `hold` keeps MIB allocated. Prints one line of JSON at its end: the bytes copied and the seconds it took.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

LIBRARY = "libcuda.so.1"
MIB = 1 << 20
KERNEL = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .u32 %r<3>;
  .reg .u64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.f32 %f1, 0f3F800000;
  mov.f32 %f2, 0f3F7FFFFF;
  mov.u32 %r2, 0;
again:
  fma.rn.f32 %f1, %f1, %f2, %f2;
  fma.rn.f32 %f1, %f1, %f2, %f2;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra again;
  st.global.f32 [%rd1], %f1;
  ret;
}
"""


class Cuda:
    def __init__(self) -> None:
        self.library = ctypes.CDLL(LIBRARY)
        device, context = c_int(), c_void_p()
        self("cuInit", c_uint(0))
        self("cuDeviceGet", byref(device), c_int(0))
        self("cuCtxCreate_v2", byref(context), c_uint(0), device)

    def __call__(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise OSError(f"{name}: CUDA error {status}")

    def memory(self, size: int) -> c_ulonglong:
        address = c_ulonglong()
        self("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address

    def pinned(self, size: int) -> c_void_p:
        address = c_void_p()
        self("cuMemHostAlloc", byref(address), c_size_t(size), c_uint(0))
        return address

    def wait(self) -> None:
        self("cuCtxSynchronize")


def copier(cuda: Cuda, kind: str, size: int) -> Any:
    """A function that copies `size` bytes."""
    there = cuda.memory(size)
    if kind == "dram":
        source = cuda.memory(size)
        return lambda: cuda("cuMemcpyDtoDAsync_v2", there, source, c_size_t(size), None)
    here = cuda.pinned(size)
    if kind == "h2d":
        return lambda: cuda("cuMemcpyHtoDAsync_v2", there, here, c_size_t(size), None)
    return lambda: cuda("cuMemcpyDtoHAsync_v2", here, there, c_size_t(size), None)


def spinner(cuda: Cuda) -> Any:
    module, function, out = c_void_p(), c_void_p(), cuda.memory(4096)
    cuda("cuModuleLoadData", byref(module), c_char_p(KERNEL))
    cuda("cuModuleGetFunction", byref(function), module, c_char_p(b"spin"))
    rounds = c_uint(20_000)
    given = (c_void_p * 2)(ctypes.cast(byref(out), c_void_p), ctypes.cast(byref(rounds), c_void_p))
    grid = [c_uint(n) for n in (4096, 1, 1, 256, 1, 1, 0)]
    return lambda: cuda("cuLaunchKernel", function, *grid, None, given, None)


def main(kind: str, seconds: float, mib: int) -> None:
    cuda = Cuda()
    if kind == "hold":
        cuda.memory(mib * MIB)
        print("holding", flush=True)
        time.sleep(seconds)
        return
    work = spinner(cuda) if kind == "sm" else copier(cuda, kind, mib * MIB)
    work()
    cuda.wait()
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(4):
            work()
        cuda.wait()
        calls += 4
    copied = 0 if kind == "sm" else calls * mib * MIB
    print(json.dumps({"kind": kind, "bytes": copied, "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 256)
