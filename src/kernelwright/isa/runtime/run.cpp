// Launches: the order in which workgroups and waves run, and the checks of every instruction.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "launch.h"
#include "values.h"

namespace isa {

namespace {

constexpr u64 QUANTUM = 20000;    // instructions of a wave before others get a turn
constexpr std::size_t RESIDENT = 48;  // workgroups that may wait for one another
constexpr unsigned char JUNK = 0xcb;  // fills LDS, scratch and registers that nobody has written
u32 current_round = 0;

}  // namespace

const Table& operations() {
  static const Table all = [] {
    Table t;
    add_vector_float(t), add_vector_integer(t), add_compares(t), add_packed(t), add_lanes(t);
    add_scalar(t), add_control(t), add_memory(t), add_matrix(t);
    return t;
  }();
  return all;
}

void gap(const Instruction& i, const std::string& why) {
  throw Fault{"emulator gap", i.text + (why.empty() ? "" : " (" + why + ")")};
}

void set_rounding(u32 round) {  // 0: to nearest even, 1: up, 2: down, 3: towards zero
  if (round == current_round) return;
  constexpr unsigned TO_HARDWARE[] = {0, 2, 1, 3};
  _mm_setcsr((_mm_getcsr() & ~0x6000u) | TO_HARDWARE[round] << 13);
  current_round = round;
}

void mark_vectors(Wave& w, const Operand& o, Counter counter, u32 words) {
  const u32 number = ++w.issued[int(counter)];
  auto& marks = counter == Counter::lds ? w.lds_mark : w.vector_mark;
  for (u32 k = 0; k < words; ++k) marks[o.reg + k] = number;
}

void mark_scalars(Wave& w, const Operand& o) {
  const u32 number = ++w.issued[int(Counter::scalar_memory)];
  for (u32 k = 0; k < o.words; ++k) w.scalar_mark[o.reg + k] = number;
}

namespace {

[[noreturn]] void unawaited(const Instruction& i, char file, int reg) {
  throw Fault{"wait", std::string(1, file) + std::to_string(reg) + " is used before the wait for its load: " + i.text};
}

void check_operands(const Wave& w, const Instruction& i) {
  for (std::size_t k = 0; k < i.at.size(); ++k) {
    const Operand& o = i.at[k];
    for (int reg = o.reg; reg < o.reg + o.words; ++reg) {
      if (o.kind == Kind::vector) {
        const int own = k == 0 ? i.op.loads : -1;  // loads of one kind write in order
        if (own != int(Counter::vector_memory) && w.vector_mark[reg] > w.completed[int(Counter::vector_memory)]) unawaited(i, 'v', reg);
        if (own != int(Counter::lds) && w.lds_mark[reg] > w.completed[int(Counter::lds)]) unawaited(i, 'v', reg);
      } else if (o.kind == Kind::scalar) {
        if (w.scalar_mark[reg] > w.completed[int(Counter::scalar_memory)]) unawaited(i, 's', reg);
      }
    }
  }
  if (i.second) check_operands(w, *i.second);
}

bool has_outstanding(const Wave& w) {
  return std::memcmp(w.issued, w.completed, sizeof w.issued) != 0;
}

void run_dual(Wave& w, const Instruction& i) {  // both read before one of them writes
  u32 before[LANES], made[LANES];
  u32* target = w.row(i.at[0].reg);
  std::memcpy(before, target, sizeof before);
  i.op.run(w, i);
  std::memcpy(made, target, sizeof made);
  std::memcpy(target, before, sizeof before);
  i.second->op.run(w, *i.second);
  std::memcpy(w.row(i.at[0].reg), made, sizeof made);
}

// Runs a wave until it ends, waits, or has used its turn.
u64 run_wave(Wave& w) {
  const auto& code = w.launch->object->code;
  const bool tracks = w.launch->object->tracks_waits;
  u64 n = 0;
  w.yields = false;
  while (w.state == State::running && n < QUANTUM && !w.yields) {
    if (std::size_t(w.next) >= code.size()) throw Fault{"trap", "the program runs past its end"};
    const Instruction& i = code[w.next++];
    ++n, ++w.clock;
    if (!i.op.run || (i.second && !i.second->op.run)) gap(i);
    if (tracks && has_outstanding(w)) check_operands(w, i);
    if (i.op.round_class) set_rounding(i.op.round_class == 32 ? w.mode & 3 : w.mode >> 2 & 3);
    if (i.second) run_dual(w, i);
    else i.op.run(w, i);
  }
  return n;
}

struct Cursor { int next; Wave& wave; };
void push(Cursor& c, u32 value) { c.wave.s[c.next++] = value; }
void push64(Cursor& c, u64 value) { push(c, u32(value)), push(c, u32(value >> 32)); }

// Registers at the start. Source: LLVM, "User Guide for AMDGPU Backend", Initial Kernel Execution
// State.
void set_scalars(Launch& at, Group& group, Wave& w) {
  const Kernel& k = *at.kernel;
  Cursor c{0, w};
  const u64 kernarg = u64(at.kernarg.data()), packet = u64(at.packet.data());
  if (k.properties & 1) push64(c, 0), push64(c, 0);      // the descriptor of scratch memory
  if (k.properties & 2) push64(c, packet);
  if (k.properties & 4) push64(c, 0);                    // the queue
  if (k.properties & 8) push64(c, kernarg);
  if (k.properties & 16) push64(c, k.launches);          // the dispatch's number
  if (k.properties & 32) push64(c, 0);                   // flat scratch
  if (k.properties & 64) push(c, k.private_bytes);
  const u32 n_preloaded = k.preload & 127, first = k.preload >> 7 & 511;
  for (u32 word = 0; word < n_preloaded; ++word) {
    u32 value;
    std::memcpy(&value, at.kernarg.data() + 4 * (first + word), 4);
    push(c, value);
  }
  c.next = k.rsrc2 >> 1 & 31;
  for (int axis = 0; axis < 3; ++axis)
    if (k.rsrc2 >> (7 + axis) & 1) push(c, group.index[axis]);
  if (k.rsrc2 >> 10 & 1) push(c, 0);
  if (at.object->generation == 9 && k.rsrc2 & 1) push(c, 0);
}

void start_wave(Launch& at, Group& group, Wave& w, int id) {
  const Kernel& k = *at.kernel;
  w.launch = &at, w.group = &group, w.id = id, w.width = k.width;
  const std::size_t n_rows = std::size_t(std::max(k.n_vectors, 1)) + 8;
  w.vectors.assign(n_rows * LANES, 0xcbcbcbcbu);
  w.vector_mark.assign(n_rows, 0), w.lds_mark.assign(n_rows, 0);
  w.scratch_bytes = k.private_bytes;
  w.scratch.assign(std::size_t(k.private_bytes) * LANES, char(JUNK));
  w.mode = (k.rsrc1 >> 12 & 0xff) | 0x300;
  w.next = at.object->index.at(k.entry);
  w.s[SHARED_BASE + 1] = u32(SHARED_APERTURE >> 32), w.s[PRIVATE_BASE + 1] = u32(PRIVATE_APERTURE >> 32);
  w.s[SHARED_BASE + 2] = w.s[PRIVATE_BASE + 2] = ~0u;
  w.s[SHARED_BASE + 3] = w.s[SHARED_BASE + 1], w.s[PRIVATE_BASE + 3] = w.s[PRIVATE_BASE + 1];
  set_scalars(at, group, w);
  const u32 n_threads = at.block[0] * at.block[1] * at.block[2];
  u64 lanes = 0;
  const bool is_packed = at.object->generation >= 11 || at.object->packs_ids;
  for (int l = 0; l < k.width; ++l) {
    const u32 linear = u32(id * k.width + l);
    if (linear >= n_threads) break;
    lanes |= u64{1} << l;
    const u32 x = linear % at.block[0], y = linear / at.block[0] % at.block[1], z = linear / at.block[0] / at.block[1];
    w.row(0)[l] = is_packed ? x | y << 10 | z << 20 : x;
    if (!is_packed && n_rows > 2) w.row(1)[l] = y, w.row(2)[l] = z;
  }
  w.set_mask(EXEC, lanes);
}

std::unique_ptr<Group> start_group(Launch& at, u64 linear) {
  auto group = std::make_unique<Group>();
  group->index[0] = u32(linear % at.grid[0]);
  group->index[1] = u32(linear / at.grid[0] % at.grid[1]);
  group->index[2] = u32(linear / at.grid[0] / at.grid[1]);
  group->lds.assign(at.kernel->lds_bytes + at.dynamic_lds, char(JUNK));
  const u32 n_threads = at.block[0] * at.block[1] * at.block[2];
  group->waves.resize((n_threads + at.kernel->width - 1) / at.kernel->width);
  group->live = int(group->waves.size());
  at.grid_live += group->live;
  for (std::size_t id = 0; id < group->waves.size(); ++id) start_wave(at, *group, group->waves[id], int(id));
  return group;
}

void run_one(Launch& at, Group& group, Wave& w) {
  try {
    at.executed += run_wave(w);
  } catch (Fault& fault) {
    fault.detail += " [" + at.kernel->name + ", workgroup " + std::to_string(group.index[0]) + "," +
                    std::to_string(group.index[1]) + "," + std::to_string(group.index[2]) + ", wave " +
                    std::to_string(w.id) + "]";
    throw;
  }
  if (w.state == State::done) --group.live, --at.grid_live;
}

// One turn of every wave of a workgroup that may run; whether one of them made progress other than
// by using up its turn.
bool turn(Launch& at, Group& group) {
  bool is_progress = false;
  for (Wave& w : group.waves) {
    if (w.state != State::running) continue;
    run_one(at, group, w);
    is_progress = is_progress || w.state != State::running;
  }
  if (group.live && group.arrived == group.live) {
    for (Wave& w : group.waves)
      if (w.state == State::barrier) w.state = State::running;
    group.arrived = 0;
    is_progress = true;
  }
  return is_progress;
}

void release_grid(Launch& at, std::vector<std::unique_ptr<Group>>& resident) {
  if (!at.grid_live || at.grid_arrived != at.grid_live) return;
  for (auto& group : resident)
    for (Wave& w : group->waves)
      if (w.state == State::grid_barrier) w.state = State::running;
  at.grid_arrived = 0;
}

}  // namespace

void run_grid(Launch& at) {
  const u64 n_groups = u64{at.grid[0]} * at.grid[1] * at.grid[2];
  std::vector<std::unique_ptr<Group>> resident;
  u64 next = 0, idle = 0;
  while (next < n_groups || !resident.empty()) {
    const bool admits = resident.empty() || at.is_cooperative || (idle && resident.size() < RESIDENT);
    if (next < n_groups && admits) resident.push_back(start_group(at, next++));
    if (at.is_cooperative && next < n_groups) continue;
    bool is_progress = false;
    for (auto& group : resident) is_progress = turn(at, *group) || is_progress;
    release_grid(at, resident);
    const auto left = std::remove_if(resident.begin(), resident.end(), [](auto& g) { return !g->live; });
    resident.erase(left, resident.end());
    idle = is_progress ? 0 : idle + 1;
    if (idle > HANG_TURNS) throw Fault{"hang", "no wave makes progress [" + at.kernel->name + "]"};
  }
  set_rounding(0);
}

}  // namespace isa
