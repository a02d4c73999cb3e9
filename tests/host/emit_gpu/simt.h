// CUDA's thread model on one CPU thread: the threads of a block are fibers that switch at barriers
// and warp shuffles, blocks run one after the other, or together as threads of this machine. Enough
// for emitted kernels; no atomics.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static thread_local
#define __launch_bounds__(...)

struct Index { int x, y; };
static thread_local Index threadIdx, blockIdx, gridDim, blockDim;

namespace simt {
constexpr int MAX_THREADS = 1024, STACK_BYTES = 1 << 16;
struct Fiber { ucontext_t context; char* stack; Index at; bool done; };
static thread_local Fiber fibers[MAX_THREADS];
static thread_local ucontext_t scheduler;
static thread_local void (*kernel)(void**);
static thread_local void** arguments;
static thread_local int current, arrived, generation;
static thread_local int warp_arrived[MAX_THREADS / 32], warp_generation[MAX_THREADS / 32];
static thread_local long long exchange[MAX_THREADS];

static void yield() { swapcontext(&fibers[current].context, &scheduler); }
static void meet(int& count, int& round, int n) {
    const int mine = round;
    if (++count == n) { count = 0; ++round; return; }
    while (round == mine) yield();
}
static int number() { return threadIdx.y * blockDim.x + threadIdx.x; }
static void meet_warp() { meet(warp_arrived[number() / 32], warp_generation[number() / 32], 32); }
static void body() { kernel(arguments); fibers[current].done = true; yield(); }

template <class T> T from_lane(T x, int lane) {
    const int first = number() / 32 * 32;
    memcpy(&exchange[number()], &x, sizeof x);
    meet_warp();
    T y;
    memcpy(&y, &exchange[first + lane], sizeof y);
    meet_warp();
    return y;
}

static void run_blocks(
    int first, int end, int blocks, int width, int height, void (*f)(void**), void** a) {
    const int n = width * height;
    kernel = f, arguments = a, blockDim = {width, height}, gridDim = {blocks, 1};
    for (int i = 0; i < n; ++i)
        if (!fibers[i].stack) fibers[i].stack = (char*)malloc(STACK_BYTES);
    for (int block = first; block < end; ++block) {
        blockIdx = {block, 0}, arrived = 0;
        for (int i = 0; i < n; ++i) {
            Fiber& fiber = fibers[i];
            fiber.at = {i % width, i / width}, fiber.done = false;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack;
            fiber.context.uc_stack.ss_size = STACK_BYTES;
            fiber.context.uc_link = &scheduler;
            makecontext(&fiber.context, body, 0);
        }
        for (int left = n; left;)
            for (current = 0; current < n; ++current) {
                if (fibers[current].done) continue;
                threadIdx = fibers[current].at;
                swapcontext(&scheduler, &fibers[current].context);
                left -= fibers[current].done;
            }
    }
}

static void run(int blocks, int width, int height, bool together, void (*f)(void**), void** a) {
    if (!together) return run_blocks(0, blocks, blocks, width, height, f, a);
    std::vector<std::thread> running;
    for (int block = 0; block < blocks; ++block)
        running.emplace_back(run_blocks, block, block + 1, blocks, width, height, f, a);
    for (std::thread& thread : running) thread.join();
}
}  // namespace simt

struct alignas(16) float4 { float x, y, z, w; };
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static float4 from_memory(const float* from) {  // lets the other threads and blocks run first
    simt::yield();
    std::this_thread::yield();
    const volatile float* now = from;
    return {now[0], now[1], now[2], now[3]};
}
static void __syncwarp() { simt::meet_warp(); }
static int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }

static void __syncthreads() { simt::meet(simt::arrived, simt::generation, blockDim.x * blockDim.y); }
template <class T> T __shfl_xor_sync(unsigned, T x, int mask) {
    return simt::from_lane(x, simt::number() % 32 ^ mask);
}
template <class T> T __shfl_up_sync(unsigned, T x, int step) {
    const int lane = simt::number() % 32;
    return simt::from_lane(x, lane >= step ? lane - step : lane);
}
static float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static float rsqrtf(float x) { return 1.0 / sqrt((double)x); }
static float __fmul_rn(float a, float b) { return a * b; }
static double __dmul_rn(double a, double b) { return a * b; }
static double rsqrt(double x) { return 1.0 / sqrt(x); }
static float from_half(unsigned short bits) {
    return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)bits})[0];
}
static unsigned short to_half(float x) {
    return __builtin_ia32_vcvtps2ph((float __attribute__((vector_size(16)))){x}, 0)[0];
}
