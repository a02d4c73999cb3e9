// The emulation's checks. The compiler's thread sanitizer marks every access of device code; the
// marks (marks.cpp) come here instead of into its own runtime, and are checked against the known
// state of memory: bounds of allocations, written shared memory, and the order of accesses.
//
// Two accesses race when different threads make them, one writes, not both are atomic, and no
// barrier, warp collective or fence of the earlier thread lies between. A store that leaves the
// value unchanged is not a write, and a read whose thread then compares and swaps that value does not
// race with atomics (suspects.cpp). Only the last of several readers of a location is remembered.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "runtime.h"

extern "C" char __executable_start, _end;
extern "C" void* __real_malloc(std::size_t);
extern "C" void __real_free(void*);

namespace simt {

struct Access {
  unsigned thread = ~0u, epoch = 0, warp_epoch = 0, fences = 0;
  unsigned char bytes = 0;  // bit mask of the granule's four bytes
  bool is_atomic = false;
  std::uint32_t found = 0;  // value of the granule at the access
};

struct Cell {
  unsigned run = 0;
  Access write, read;
};

namespace {

constexpr std::size_t GRANULE = 4, REDZONE = 256, MAX_SHADOWED = std::size_t{64} << 20;
constexpr std::size_t MAX_KINDS = 200;
constexpr unsigned char JUNK = 0xA5;
constexpr unsigned NOBODY = ~0u;

struct Memory {
  std::uintptr_t low = 0, high = 0;
  Cell* cells = nullptr;
  unsigned number = 0;  // of the program's allocations; 0 if it is none
};

struct Complaint {
  std::string detail;
  std::uint64_t count = 0;
};

auto& memories = *new std::vector<Memory>;  // by address
// The memory that a page belongs to, by the page's number; wrong entries are noticed by the bounds.
constexpr std::size_t N_HITS = 256;
std::size_t last_hits[N_HITS];
// Never destroyed: the report is written when the program ends.
auto& complaints = *new std::map<std::pair<std::string, std::uintptr_t>, Complaint>;
std::vector<unsigned> fences;  // by thread of the running launch
std::vector<Arena*> arenas;
std::size_t static_bytes = 0;
unsigned arena_runs = 0;
bool has_device_heap = false;

struct Clash {
  const char* detail = nullptr;
  unsigned reader = NOBODY;  // thread whose plain read met another's atomic, and nothing worse
};

struct Pending {
  std::uintptr_t at = 0;
  std::size_t bytes = 0;
  unsigned char before[16];
  std::uintptr_t site = 0;
  const char* detail = nullptr;
} pending;

Cell* make_cells(std::size_t bytes) {
  if (bytes > MAX_SHADOWED) return nullptr;
  const std::size_t size = (bytes / GRANULE + 2) * sizeof(Cell);
  void* made = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<Cell*>(made);
}

Memory* find(std::uintptr_t at) {
  std::size_t& hit = last_hits[(at >> 12) % N_HITS];
  if (hit < memories.size() && at >= memories[hit].low && at < memories[hit].high) return &memories[hit];
  auto above = std::upper_bound(memories.begin(), memories.end(), at,
                                [](std::uintptr_t a, const Memory& m) { return a < m.low; });
  if (above == memories.begin()) return nullptr;
  --above;
  hit = static_cast<std::size_t>(above - memories.begin());
  return at < above->high ? &*above : nullptr;
}

void note_memory(const Memory& memory) {  // what the program leaves in an allocation
  static Notes& notes = *new Notes("SIMT_MEMORY");
  notes.add(reinterpret_cast<const void*>(memory.low), memory.high - memory.low);
}

void insert(Memory memory) {
  auto place = std::upper_bound(memories.begin(), memories.end(), memory.low,
                                [](std::uintptr_t a, const Memory& m) { return a < m.low; });
  memories.insert(place, memory);
}

unsigned fences_of(unsigned thread) { return thread < fences.size() ? fences[thread] : ~0u; }

bool is_ordered(const Access& before, const Fiber& now) {
  if (before.thread == now.id) return true;
  if (before.fences < fences_of(before.thread)) return true;
  const dim3 block = machine.config.block;
  const unsigned n_threads = block.x * block.y * block.z;
  if (before.thread / n_threads != now.id / n_threads) return false;
  if (before.epoch < now.epoch) return true;
  const int width = machine.width;
  const bool is_same_warp = static_cast<int>(before.thread % n_threads) / width == now.linear / width;
  return is_same_warp && before.warp_epoch < now.warp_epoch;
}

void check_granule(Cell& cell, unsigned run, std::uintptr_t at, unsigned char bytes, bool is_write,
                   bool is_atomic, Clash* clash) {
  const Fiber& now = *machine.current;
  if (cell.run != run) {
    cell = Cell{};
    cell.run = run;
  }
  auto clashes = [&](const Access& other) {
    return other.thread != ~0u && (other.bytes & bytes) && !(other.is_atomic && is_atomic) &&
           !is_ordered(other, now);
  };
  Clash met;
  if (clashes(cell.write)) {
    met = {is_write ? "two threads write" : "read of another's write",
           !is_write && cell.write.is_atomic ? now.id : NOBODY};
  } else if (is_write && clashes(cell.read)) {
    met = {"write under another's read", is_atomic ? cell.read.thread : NOBODY};
    cell.read.is_atomic |= is_atomic;  // reported once per reader and value
  }
  const bool is_sure = clash->detail && clash->reader == NOBODY;
  if (met.detail && !is_sure) *clash = met;
  Access made{now.id, now.epoch, now.warp_epoch, fences_of(now.id), bytes, is_atomic};
  std::memcpy(&made.found, reinterpret_cast<const void*>(at), GRANULE);
  (is_write ? cell.write : cell.read) = made;
}

template <typename F>
void each_granule(std::uintptr_t base, std::uintptr_t at, std::size_t bytes, F f) {
  for (std::size_t i = 0; i < bytes;) {
    const std::size_t offset = at + i - base, within = offset % GRANULE;
    const std::size_t n = std::min(GRANULE - within, bytes - i);
    f(offset / GRANULE, static_cast<unsigned char>(((1u << n) - 1) << within));
    i += n;
  }
}

// A read by the calling thread that found the value it now compares with counts as atomic.
void confirm_read(std::uintptr_t at, std::size_t bytes, const char* expected) {
  const auto base = reinterpret_cast<std::uintptr_t>(machine.current->block->arena->memory);
  const bool is_shared = at >= base && at < base + ARENA_BYTES;
  const Memory* memory = is_shared ? nullptr : find(at);
  const std::uintptr_t low = is_shared ? base : memory ? memory->low : at;
  Cell* cells = is_shared ? machine.current->block->arena->cells : memory ? memory->cells : nullptr;
  if (!cells || (at - low) % GRANULE) return;
  for (std::size_t i = 0; i + GRANULE <= bytes; i += GRANULE) {
    Access& read = cells[(at - low + i) / GRANULE].read;
    if (read.thread == machine.current->id && !std::memcmp(&read.found, expected + i, GRANULE))
      read.is_atomic = true;
  }
}

}  // namespace

void access(const volatile void* where, std::size_t bytes, bool is_write, bool is_atomic,
            std::uintptr_t site, bool is_update) {
  if (!machine.in_device) return;
  const auto at = reinterpret_cast<std::uintptr_t>(where);
  if (at >= machine.stack_low && at < machine.stack_high) return;
  settle_pending();
  Clash clash;
  Arena& arena = *machine.current->block->arena;
  const auto base = reinterpret_cast<std::uintptr_t>(arena.memory);
  if (at >= base && at < base + ARENA_BYTES) {
    const std::size_t offset = at - base;
    const std::size_t dynamic_end = ARENA_BYTES / 2 + machine.config.shared_bytes;
    if (offset + bytes > dynamic_end || (offset >= static_bytes && offset < ARENA_BYTES / 2)) {
      complain("out-of-bounds", site, "shared memory beyond what the launch asked for");
      return;
    }
    bool is_unwritten = false;
    each_granule(base, at, bytes, [&](std::size_t i, unsigned char mask) {
      if (!is_write || is_update) is_unwritten |= (arena.written[i] & mask) != mask;
      if (is_write) arena.written[i] |= mask;
      check_granule(arena.cells[i], arena.run, base + i * GRANULE, mask, is_write, is_atomic, &clash);
    });
    if (is_unwritten) complain("uninitialised", site, "shared memory is read before it is written");
  } else if (Memory* memory = find(at)) {
    if (at + bytes > memory->high) {
      complain("out-of-bounds", site, "access over the end of an allocation");
      return;
    }
    if (memory->cells)
      each_granule(memory->low, at, bytes, [&](std::size_t i, unsigned char mask) {
        check_granule(memory->cells[i], machine.launch_id, memory->low + i * GRANULE, mask, is_write,
                      is_atomic, &clash);
      });
  } else if (!has_device_heap) {
    complain("out-of-bounds", site, "address outside every device allocation");
    return;
  }
  if (!clash.detail) return;
  if (clash.reader != NOBODY) {
    suspect(clash.reader, at, bytes, site, clash.detail);
    return;
  }
  if (!is_write || is_atomic || bytes > sizeof pending.before) {
    complain("race", site, clash.detail);
    return;
  }
  pending = {at, bytes, {}, site, clash.detail};
  std::memcpy(pending.before, reinterpret_cast<const void*>(at), bytes);
}

void settle_pending() {
  if (!pending.detail) return;
  if (std::memcmp(pending.before, reinterpret_cast<const void*>(pending.at), pending.bytes))
    complain("race", pending.site, pending.detail);
  pending.detail = nullptr;
}

void complain(const char* kind, std::uintptr_t site, const char* detail) {
  const OwnMemory own;
  if (complaints.size() >= MAX_KINDS && !complaints.count({kind, site})) return;
  Complaint& complaint = complaints[{kind, site}];
  complaint.detail = detail;
  ++complaint.count;
}

void start_fences(std::uint64_t n_threads) {
  fences.assign(n_threads <= (1u << 24) ? n_threads : 0, 0);
  static bool has_image = false;
  if (!has_image) {
    const auto low = reinterpret_cast<std::uintptr_t>(&__executable_start);
    const auto high = reinterpret_cast<std::uintptr_t>(&_end);
    insert({low & ~std::uintptr_t{GRANULE - 1}, high, make_cells(high - low)});
    has_image = true;
  }
}

Arena* take_arena(std::size_t dynamic_bytes) {
  Arena* arena;
  if (arenas.empty()) {
    arena = new Arena;
    void* made = mmap(nullptr, ARENA_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena->memory = static_cast<char*>(made);
    arena->cells = make_cells(ARENA_BYTES);
    arena->written = new unsigned char[ARENA_BYTES / GRANULE]();
  } else {
    arena = arenas.back();
    arenas.pop_back();
  }
  arena->run = ++arena_runs;
  const std::size_t used[2][2] = {{0, static_bytes}, {ARENA_BYTES / 2, dynamic_bytes}};
  for (const auto& [from, size] : used) {
    std::memset(arena->memory + from, JUNK, size);
    std::memset(arena->written + from / GRANULE, 0, size / GRANULE + 1);
  }
  return arena;
}

void give_arena(Arena* arena) { arenas.push_back(arena); }

void write_report() {
  settle_suspects();
  std::map<unsigned, const Memory*> kept;
  for (const Memory& memory : memories)
    if (memory.number) kept[memory.number] = &memory;
  for (const auto& [_, memory] : kept) note_memory(*memory);
  const char* path = std::getenv("SIMT_REPORT");
  std::FILE* out = path ? std::fopen(path, "w") : nullptr;
  if (!out) return;
  std::fprintf(out, "{\"threads\": %llu, \"barriers\": %llu, \"collectives\": %llu, \"complaints\": [",
               static_cast<unsigned long long>(machine.threads_run),
               static_cast<unsigned long long>(machine.barriers),
               static_cast<unsigned long long>(machine.collectives));
  const char* comma = "";
  for (const auto& [key, value] : complaints) {
    std::fprintf(out, "%s{\"kind\": \"%s\", \"site\": %llu, \"count\": %llu, \"detail\": \"%s\"}",
                 comma, key.first.c_str(), static_cast<unsigned long long>(key.second),
                 static_cast<unsigned long long>(value.count), value.detail.c_str());
    comma = ", ";
  }
  std::fprintf(out, "]}\n");
  std::fclose(out);
}

}  // namespace simt

using namespace simt;

extern "C" {

void simt_add_memory(const void* at, std::size_t bytes) {
  const auto low = reinterpret_cast<std::uintptr_t>(at);
  insert({low, low + bytes, make_cells(bytes)});
}

void simt_drop_memory(const void* at) {
  const auto low = reinterpret_cast<std::uintptr_t>(at);
  for (auto m = memories.begin(); m != memories.end(); ++m) {
    if (m->low != low) continue;
    if (m->cells) munmap(m->cells, ((m->high - m->low) / GRANULE + 2) * sizeof(Cell));
    memories.erase(m);
    return;
  }
}

int simt_memory_of(unsigned long long at, unsigned long long* low, unsigned long long* high) {
  const Memory* memory = find(at);
  if (!memory) return 0;
  *low = memory->low, *high = memory->high;
  return 1;
}

void* simt_allocate(std::size_t bytes) {
  auto* base = static_cast<char*>(std::aligned_alloc(256, (bytes + 2 * REDZONE + 255) / 256 * 256));
  if (!base) return nullptr;
  std::memset(base, JUNK, bytes + 2 * REDZONE < MAX_SHADOWED ? bytes + 2 * REDZONE : 0);
  simt_add_memory(base + REDZONE, bytes);
  static unsigned number = 0;
  if (Memory* memory = find(reinterpret_cast<std::uintptr_t>(base + REDZONE))) memory->number = ++number;
  return base + REDZONE;
}

void simt_free(void* at) {
  if (!at) return;
  if (const Memory* memory = find(reinterpret_cast<std::uintptr_t>(at))) note_memory(*memory);
  simt_drop_memory(at);
  __real_free(static_cast<char*>(at) - REDZONE);
}

std::size_t simt_reserve_shared(std::size_t bytes) {
  const std::size_t offset = static_bytes;
  static_bytes += (bytes + 127) / 128 * 128;
  Arena* arena = machine.current->block->arena;  // the first block meets it while it runs
  std::memset(arena->memory + offset, JUNK, static_bytes - offset);
  return offset;
}

char* simt_shared_base() { return machine.current->block->arena->memory; }
char* simt_dynamic_base() { return machine.current->block->arena->memory + ARENA_BYTES / 2; }
std::size_t simt_dynamic_bytes() { return machine.config.shared_bytes; }

void simt_fence() {
  settle_pending();
  if (machine.current && machine.current->id < fences.size()) ++fences[machine.current->id];
}

void simt_atomic(const volatile void* at, std::size_t bytes, std::uintptr_t site) {
  if (!machine.in_device) return;
  if (bytes) access(at, bytes, true, true, site, true);  // a sleep accesses nothing
  yield_sometimes();
}

void simt_compare(const volatile void* where, std::size_t bytes, const void* expected) {
  if (!machine.in_device) return;
  settle_pending();
  const auto at = reinterpret_cast<std::uintptr_t>(where);
  clear_suspect(machine.current->id, at, bytes, expected);
  confirm_read(at, bytes, static_cast<const char*>(expected));
}

// Memory that device code allocates from the heap belongs to the device.
void* __wrap_malloc(std::size_t bytes) {
  if (!machine.in_device) return __real_malloc(bytes);
  machine.in_device = false;
  has_device_heap = true;
  void* made = __real_malloc(bytes);
  simt_add_memory(made, bytes);
  machine.in_device = true;
  return made;
}

void __wrap_free(void* at) {
  const bool in_device = machine.in_device;
  machine.in_device = false;
  if (in_device) simt_drop_memory(at);
  __real_free(at);
  machine.in_device = in_device;
}

}  // extern "C"

// Objects that kernels make are on the device's heap as well.
void* operator new(std::size_t bytes) {
  if (void* made = std::malloc(bytes ? bytes : 1)) return made;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
