// CUDA's thread model on one CPU thread: the threads of a block are fibers that switch at barriers
// and warp shuffles, blocks run one after the other. Enough for emitted kernels; no atomics.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(n)

struct Index { int x, y; };
static Index threadIdx, blockIdx, gridDim, blockDim;

namespace simt {
constexpr int MAX_THREADS = 1024, STACK_BYTES = 1 << 15;
struct Fiber { ucontext_t context; char* stack; Index at; bool done; };
static Fiber fibers[MAX_THREADS];
static ucontext_t scheduler;
static void (*kernel)(void**);
static void** arguments;
static int current, arrived, generation;
static int warp_arrived[MAX_THREADS / 32], warp_generation[MAX_THREADS / 32];
static long long exchange[MAX_THREADS];

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

static void run(int blocks, int width, int height, void (*f)(void**), void** a) {
    const int n = width * height;
    kernel = f, arguments = a, blockDim = {width, height}, gridDim = {blocks, 1};
    for (int i = 0; i < n; ++i)
        if (!fibers[i].stack) fibers[i].stack = (char*)malloc(STACK_BYTES);
    for (int block = 0; block < blocks; ++block) {
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
}  // namespace simt

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
static double rsqrt(double x) { return 1.0 / sqrt(x); }
static float from_half(unsigned short bits) {
    return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)bits})[0];
}
static unsigned short to_half(float x) {
    return __builtin_ia32_vcvtps2ph((float __attribute__((vector_size(16)))){x}, 0)[0];
}
