// State that the scheduler (runtime.cpp) and the checks (checks.cpp, marks.cpp, suspects.cpp) share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "simt/core.h"

namespace simt {

enum class State { fresh, ready, running, barrier, collective, grid, done };
enum class Schedule { forward, reverse, random };

constexpr std::size_t ARENA_BYTES = 512 * 1024;  // static shared memory, then dynamic, half each

struct Cell;

struct Arena {  // the shared memory of one resident block
  char* memory = nullptr;
  Cell* cells = nullptr;
  unsigned char* written = nullptr;  // per granule, one bit per byte
  unsigned run = 0;
};

struct Block;

struct Fiber {
  State state = State::fresh;
  char* stack = nullptr;
  void* stack_pointer = nullptr;
  Block* block = nullptr;
  uint3 thread{};
  int linear = 0;
  unsigned id = 0;
  unsigned epoch = 0, warp_epoch = 0;
  unsigned operations = 0;
  bool is_spinning = false;
  std::uintptr_t site = 0;
  std::vector<std::uintptr_t> calls;  // return addresses at a collective, the kernel's own first
  Wait wait = Wait::mask;
  std::uint64_t mask = 0, words[2] = {};
  Snapshot* snapshot = nullptr;
  int predicate = 0;
};

struct Block {
  uint3 index{};
  dim3 shape;  // smaller than the launch's at the end of a grid with partial blocks
  int live = 0;
  Arena* arena = nullptr;
  std::vector<Fiber> fibers;
  std::vector<unsigned> order, warp_epochs;
  std::size_t next_fresh = 0;  // of `order`: threads before it have begun
};

struct Machine {
  Machine();  // configured by the environment
  int width = 32;
  Schedule schedule = Schedule::forward;
  unsigned seed = 0;  // seed of the random schedule
  Config config;
  std::function<void()>* body = nullptr;
  std::vector<std::unique_ptr<Block>> resident;
  Fiber* current = nullptr;
  Block* starting = nullptr;  // whose threads begin, on this stack
  char* starting_stack = nullptr;
  bool is_idle = false;  // kernels are not run, and nothing is copied from the device
  bool in_device = false, is_progress = false;
  bool is_offloaded = false;  // another machine has run the whole launch
  std::uintptr_t stack_low = 0, stack_high = 0;
  unsigned launch_id = 0;
  int last_error = 0;
  std::uint64_t threads_run = 0, barriers = 0, collectives = 0;
};

extern Machine machine;

// Bytes that the program leaves, up to 64 MiB, in the file that a variable of the environment names.
class Notes {
 public:
  explicit Notes(const char* variable);
  void add(const void* at, std::size_t bytes);

 private:
  std::FILE* file_;
  std::size_t left_ = std::size_t{64} << 20;
};

// While it lives, memory that is allocated and freed is the emulation's own, not the device's.
struct OwnMemory {
  bool was_in_device = machine.in_device;
  OwnMemory() { machine.in_device = false; }
  ~OwnMemory() { machine.in_device = was_in_device; }
};

// Where a fiber stands, from the frame of what it called: a function that two places call has one
// return address inside and another in each caller.
inline void note_calls(Fiber& fiber, void* frame) {
  fiber.calls.clear();
  for (auto at = reinterpret_cast<std::uintptr_t>(frame), below = std::uintptr_t{0};
       at > below && at >= machine.stack_low && at < machine.stack_high - 16;
       below = at, at = reinterpret_cast<std::uintptr_t*>(at)[0])
    fiber.calls.push_back(reinterpret_cast<std::uintptr_t*>(at)[1]);
  std::reverse(fiber.calls.begin(), fiber.calls.end());
}

void complain(const char* kind, std::uintptr_t site, const char* detail);
void access(const volatile void* at, std::size_t bytes, bool is_write, bool is_atomic,
            std::uintptr_t site, bool is_update = false);
void settle_pending();
void suspect(unsigned reader, std::uintptr_t at, std::size_t bytes, std::uintptr_t site,
             const char* detail);
void clear_suspect(unsigned reader, std::uintptr_t at, std::size_t bytes, const void* expected);
void settle_suspects();
void write_report();
void yield_sometimes();
void start_fences(std::uint64_t n_threads);
Arena* take_arena(std::size_t dynamic_bytes);
void give_arena(Arena*);

}  // namespace simt
