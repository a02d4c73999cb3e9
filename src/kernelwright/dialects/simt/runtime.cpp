// The emulation's scheduler: fibers, blocks, barriers, warp collectives, and launches.
#include "runtime.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#if !defined(__x86_64__)
#error "the emulation switches stacks by x86-64 instructions"
#endif

extern "C" void simt_switch(void** from, void* to);
asm(R"(
.text
.globl simt_switch
simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace simt {

Machine machine;

namespace {

constexpr std::size_t STACK_BYTES = 256 * 1024;
constexpr int SPIN_PASSES = 64;       // passes with spinning alone before another block joins
constexpr int HANG_PASSES = 10000;    // passes with spinning alone before the program is stopped
constexpr int OPS_PER_YIELD = 64;     // atomics or volatile reads before others get a turn
constexpr int HANG_EXIT = 97;

std::vector<char*> free_stacks;
std::vector<std::unique_ptr<Block>> free_blocks;  // for the next ones, whose memory they keep
void* scheduler_stack = nullptr;
std::mt19937 random_order;

char* take_stack() {
  if (!free_stacks.empty()) {
    char* stack = free_stacks.back();
    free_stacks.pop_back();
    return stack;
  }
  void* made = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) {
    std::fprintf(stderr, "simt: no memory for another thread's stack\n");
    std::exit(HANG_EXIT);
  }
  return static_cast<char*>(made);
}

void leave(State state) {  // from a fiber to the scheduler
  Fiber* self = machine.current;
  self->state = state;
  simt_switch(&self->stack_pointer, scheduler_stack);
}

void leave_for_good() {
  void* unused;
  simt_switch(&unused, scheduler_stack);
  __builtin_trap();
}

Fiber* next_fresh(Block& block) {
  while (block.next_fresh < block.order.size()) {
    Fiber& fiber = block.fibers[block.order[block.next_fresh++]];
    if (fiber.state == State::fresh) return &fiber;
  }
  return nullptr;
}

void enter(Fiber& fiber) {
  fiber.state = State::running;
  fiber.is_spinning = false;
  machine.current = &fiber;
  machine.stack_low = reinterpret_cast<std::uintptr_t>(fiber.stack);
  machine.stack_high = machine.stack_low + STACK_BYTES;
}

// The threads of a block run one after the other on one stack, as a loop would run them, until one
// has to wait: it keeps the stack, and the others go on on another. The end of a thread that waited
// is here too.
void run_fresh() {
  Block& block = *machine.starting;
  char* stack = machine.starting_stack;
  while (Fiber* fiber = next_fresh(block)) {
    fiber->stack = stack;
    enter(*fiber);
    (*machine.body)();
    machine.in_device = false;
    settle_pending();
    fiber->state = State::done;
    fiber->stack = nullptr;
    machine.is_progress = machine.is_progress || !fiber->is_spinning;
    --block.live;
    ++machine.threads_run;
  }
  free_stacks.push_back(stack);
  machine.current = nullptr;
  leave_for_good();
}

void settle_after_switch() {
  settle_pending();
  const Fiber* fiber = machine.current;
  if (fiber) machine.is_progress = machine.is_progress || !fiber->is_spinning;
  machine.in_device = false;
  machine.current = nullptr;
}

void start(Block& block) {
  machine.starting = &block;
  machine.starting_stack = take_stack();
  auto top = reinterpret_cast<std::uintptr_t>(machine.starting_stack + STACK_BYTES) & ~std::uintptr_t{15};
  auto* slot = reinterpret_cast<void**>(top) - 2;
  *slot = reinterpret_cast<void*>(run_fresh);
  std::fill(slot - 6, slot, nullptr);  // registers, of which the frame pointer ends the chain of calls
  machine.in_device = false;
  simt_switch(&scheduler_stack, slot - 6);
  settle_after_switch();
}

void resume(Fiber& fiber) {
  machine.in_device = true;
  enter(fiber);
  simt_switch(&scheduler_stack, fiber.stack_pointer);
  settle_after_switch();
}

// ---- warps -----------------------------------------------------------------------------------

void resolve(Block& block, int warp, std::uint64_t lanes) {
  auto* all = new Snapshot;
  const int first = warp * machine.width;
  for (int lane = 0; lane < machine.width; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Fiber& fiber = block.fibers[first + lane];
    all->words[lane][0] = fiber.words[0];
    all->words[lane][1] = fiber.words[1];
    fiber.snapshot = all;
    fiber.state = State::ready;
    ++all->unread;
  }
  all->active = lanes;
  const unsigned epoch = ++block.warp_epochs[warp];
  for (int lane = 0; lane < machine.width; ++lane)
    if (lanes >> lane & 1) block.fibers[first + lane].warp_epoch = epoch;
  machine.collectives += all->unread;
  machine.is_progress = true;
}

int lanes_in(const Block& block, int warp) {
  return std::min<int>(machine.width, static_cast<int>(block.fibers.size()) - warp * machine.width);
}

// The lanes of `mask` wait for one another until all of them that still run have arrived.
bool try_mask(Block& block, int warp, std::uint64_t mask, bool force) {
  std::uint64_t here = 0, missing = 0;
  for (int lane = 0; lane < lanes_in(block, warp); ++lane) {
    if (!(mask >> lane & 1)) continue;
    const Fiber& fiber = block.fibers[warp * machine.width + lane];
    const bool came = fiber.state == State::collective && fiber.wait == Wait::mask &&
                      fiber.mask == mask;
    if (came) here |= 1ull << lane;
    else if (fiber.state != State::done) missing |= 1ull << lane;
  }
  if (!here || (missing && !force)) return false;
  if (missing) {
    const int lane = __builtin_ctzll(here);
    complain("mask", block.fibers[warp * machine.width + lane].site,
             "lanes named in the mask never reach this call");
  }
  resolve(block, warp, here);
  return true;
}

// All lanes of the warp are stopped: those at the first call in program order continue together.
bool try_converged(Block& block, int warp) {
  const std::vector<std::uintptr_t>* at = nullptr;
  const int first = warp * machine.width;
  for (int lane = 0; lane < lanes_in(block, warp); ++lane) {
    const Fiber& fiber = block.fibers[first + lane];
    if (fiber.state == State::ready || fiber.state == State::fresh) return false;
    if (fiber.state == State::collective && fiber.wait == Wait::converged)
      at = !at || fiber.calls < *at ? &fiber.calls : at;
  }
  if (!at) return false;
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < lanes_in(block, warp); ++lane) {
    const Fiber& fiber = block.fibers[first + lane];
    if (fiber.state == State::collective && fiber.wait == Wait::converged && fiber.calls == *at)
      lanes |= 1ull << lane;
  }
  resolve(block, warp, lanes);
  return true;
}

bool force_masks(Block& block) {
  for (Fiber& fiber : block.fibers)
    if (fiber.state == State::collective && fiber.wait == Wait::mask)
      return try_mask(block, fiber.linear / machine.width, fiber.mask, true);
  return false;
}

// ---- barriers --------------------------------------------------------------------------------

bool try_barrier(Block& block) {
  int waiting = 0, sum = 0;
  std::uintptr_t site = 0;
  bool is_split = false;
  for (const Fiber& fiber : block.fibers) {
    if (fiber.state != State::barrier) continue;
    is_split = is_split || (waiting && fiber.site != site);
    site = fiber.site;
    sum += fiber.predicate;
    ++waiting;
  }
  if (!waiting || waiting != block.live) return false;
  if (is_split) complain("barrier", site, "threads of one block wait at different barriers");
  else if (waiting != static_cast<int>(block.fibers.size()))
    complain("barrier-exit", site, "threads of the block returned before this barrier");
  for (Fiber& fiber : block.fibers) {
    if (fiber.state != State::barrier) continue;
    fiber.predicate = sum;
    fiber.state = State::ready;
    ++fiber.epoch;
  }
  machine.barriers += waiting;
  machine.is_progress = true;
  return true;
}

bool try_grid_barrier() {
  std::size_t waiting = 0, live = 0;
  for (auto& block : machine.resident) {
    live += block->live;
    for (const Fiber& fiber : block->fibers) waiting += fiber.state == State::grid;
  }
  if (!waiting || waiting != live) return false;
  for (auto& block : machine.resident)
    for (Fiber& fiber : block->fibers)
      if (fiber.state == State::grid) fiber.state = State::ready, ++fiber.epoch;
  ++machine.launch_id;  // accesses before and after are ordered
  machine.is_progress = true;
  return true;
}

// ---- blocks ----------------------------------------------------------------------------------

std::vector<unsigned> order_of(std::size_t count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (machine.schedule == Schedule::reverse) std::reverse(order.begin(), order.end());
  if (machine.schedule == Schedule::random) std::shuffle(order.begin(), order.end(), random_order);
  return order;
}

uint3 unravel(unsigned linear, dim3 shape) {
  return {linear % shape.x, linear / shape.x % shape.y, linear / shape.x / shape.y};
}

unsigned most_threads() {
  const dim3 shape = machine.config.block;
  return shape.x * shape.y * shape.z;
}

// The part of a block that a grid of so many threads has; 0: all of it.
unsigned extent(unsigned threads, unsigned index, unsigned block) {
  return threads ? std::min(block, threads - index * block) : block;
}

std::unique_ptr<Block> make_block(unsigned linear) {
  const dim3 whole = machine.config.block, threads = machine.config.threads;
  auto block = free_blocks.empty() ? std::make_unique<Block>() : std::move(free_blocks.back());
  if (!free_blocks.empty()) free_blocks.pop_back();
  const uint3 at = block->index = unravel(linear, machine.config.grid);
  const dim3 shape = block->shape = {extent(threads.x, at.x, whole.x),
                                     extent(threads.y, at.y, whole.y),
                                     extent(threads.z, at.z, whole.z)};
  const unsigned n_threads = shape.x * shape.y * shape.z;
  block->live = static_cast<int>(n_threads);
  block->arena = take_arena(machine.config.shared_bytes);
  block->warp_epochs.assign((n_threads + machine.width - 1) / machine.width, 0);
  block->fibers.resize(n_threads);
  block->order = order_of(n_threads);
  block->next_fresh = 0;
  uint3 thread{0, 0, 0};
  for (unsigned i = 0; i < n_threads; ++i) {
    Fiber& fiber = block->fibers[i];
    fiber.block = block.get();
    fiber.state = State::fresh;
    fiber.linear = static_cast<int>(i);
    fiber.thread = thread;
    fiber.id = linear * most_threads() + i;
    fiber.epoch = fiber.warp_epoch = fiber.operations = 0;
    if (++thread.x == shape.x) thread.x = 0, ++thread.y;
    if (thread.y == shape.y) thread.y = 0, ++thread.z;
  }
  return block;
}

void pass(Block& block) {
  if (machine.schedule == Schedule::random)
    std::shuffle(block.order.begin(), block.order.end(), random_order);
  if (block.next_fresh < block.order.size()) {
    while (block.next_fresh < block.order.size()) start(block);
  } else {
    for (unsigned i : block.order)
      if (block.fibers[i].state == State::ready) resume(block.fibers[i]);
  }
  for (int warp = 0; warp < static_cast<int>(block.warp_epochs.size()); ++warp)
    while (try_converged(block, warp)) break;
  try_barrier(block);
}

void give_up() {
  complain("hang", 0, "no thread makes progress");
  write_report();
  std::fflush(nullptr);
  std::_Exit(HANG_EXIT);
}

bool force_something() {
  for (auto& block : machine.resident)
    if (force_masks(*block)) return true;
  return false;
}

bool any_ready() {
  for (auto& block : machine.resident)
    for (const Fiber& fiber : block->fibers)
      if (fiber.state == State::ready || fiber.state == State::fresh) return true;
  return false;
}

void run_grid(const std::vector<unsigned>& blocks, std::size_t n_resident) {
  std::size_t next = 0;
  int spinning = 0;
  auto admit = [&] { machine.resident.push_back(make_block(blocks[next++])); };
  while (next < blocks.size() || !machine.resident.empty()) {
    while (next < blocks.size() && machine.resident.size() < n_resident) admit();
    machine.is_progress = false;
    for (auto& block : machine.resident) pass(*block);
    try_grid_barrier();
    auto& list = machine.resident;
    list.erase(std::remove_if(list.begin(), list.end(),
                              [](auto& block) {
                                if (block->live) return false;
                                give_arena(block->arena);
                                free_blocks.push_back(std::move(block));
                                return true;
                              }),
               list.end());
    if (machine.is_offloaded) next = blocks.size();
    if (machine.is_progress || list.empty()) {
      spinning = 0;
    } else if (++spinning % SPIN_PASSES == 0 || !any_ready()) {
      if (!any_ready() && force_something()) continue;
      if (next < blocks.size()) admit();
      else if (spinning > HANG_PASSES || !any_ready()) give_up();
    }
  }
}

}  // namespace

int run(const Config& config, std::function<void()> body) {
  const dim3 b = config.block, g = config.grid;
  const auto threads = std::uint64_t{b.x} * b.y * b.z, blocks = std::uint64_t{g.x} * g.y * g.z;
  if (!threads || threads > 1024 || !blocks || b.z > 64) return 9;  // InvalidConfiguration
  if (config.shared_bytes > ARENA_BYTES / 2) return 1;              // InvalidValue
  if (machine.is_idle) return 0;
  machine.config = config;
  machine.is_offloaded = false;
  machine.body = &body;
  if (!machine.launch_id++) random_order.seed(machine.seed);
  start_fences(threads * blocks);
  run_grid(order_of(blocks), config.is_cooperative ? blocks : 1);
  settle_suspects();
  return 0;
}

void yield_sometimes() {
  Fiber* self = machine.current;
  if (++self->operations % OPS_PER_YIELD) return;
  self->is_spinning = true;
  leave(State::ready);
}

}  // namespace simt

using namespace simt;

extern "C" {

uint3 simt_thread_idx() { return machine.current->thread; }
uint3 simt_block_idx() { return machine.current->block->index; }
uint3 simt_block_dim() { return machine.current->block->shape; }
uint3 simt_grid_dim() { return machine.config.grid; }
int simt_is_idle() { return machine.is_idle; }
int simt_width() { return machine.width; }
int simt_lane() { return machine.current->linear % machine.width; }
int simt_in_device() { return machine.in_device; }
void simt_enter() { machine.in_device = true; }

int simt_barrier(std::uintptr_t site, int, int predicate) {
  Fiber* self = machine.current;
  self->site = site;
  self->predicate = predicate;
  leave(State::barrier);
  return self->predicate;
}

void simt_grid_barrier() { leave(State::grid); }

Snapshot* simt_exchange(int wait, std::uint64_t mask, std::uint64_t low, std::uint64_t high,
                        std::uintptr_t site) {
  Fiber* self = machine.current;
  settle_pending();
  const int lane = self->linear % machine.width;
  self->site = site;
  {
    const OwnMemory own;
    note_calls(*self, __builtin_frame_address(0));
  }
  self->wait = static_cast<Wait>(wait);
  self->words[0] = low, self->words[1] = high;
  self->mask = mask;
  self->state = State::collective;
  if (self->wait == Wait::mask) {
    if (!(mask >> lane & 1)) {
      complain("mask", site, "the calling lane is not in its own mask");
      self->mask = mask |= 1ull << lane;
    }
    const OwnMemory own;
    try_mask(*self->block, self->linear / machine.width, mask, false);
  }
  if (self->state == State::collective) leave(State::collective);
  self->state = State::running;
  return self->snapshot;
}

void simt_release(Snapshot* all) {
  const OwnMemory own;
  if (--all->unread == 0) delete all;
}

void simt_complain(const char* kind, std::uintptr_t site, const char* detail) {
  complain(kind, site, detail);
}

}  // extern "C"
