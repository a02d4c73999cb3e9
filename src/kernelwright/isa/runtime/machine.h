// The state of one emulated wave, decoded instructions, and what handlers share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace isa {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

constexpr int LANES = 64;  // lanes that a row has room for; a wave of 32 uses the first half
constexpr int CHUNK = 32;  // lanes that one inner loop works on
// Scalar registers by index; the constants are shared with listing.py.
constexpr int VCC = 106, NOWHERE = 124, M0 = 125, EXEC = 126, SHARED_BASE = 200,
              PRIVATE_BASE = 204, SCC = 253, N_SCALARS = 256;
constexpr u64 SHARED_APERTURE = u64{0x10000} << 32, PRIVATE_APERTURE = u64{0x20000} << 32;

// What an instruction did that no GPU would: the launch ends with it.
struct Fault {
  std::string kind;  // "emulator gap", "wait", "out-of-bounds", "trap", "hang"
  std::string detail;
};

enum class Kind : u8 { none, vector, scalar, integer, literal, number };

struct Operand {
  Kind kind = Kind::none;
  u8 words = 1;
  u16 reg = 0;  // accumulation registers follow the 256 vector registers
  u8 half = 0;  // 1: the low half (".l"), 2: the high half (".h")
  bool is_negated = false, is_absolute = false, is_sign_extended = false;
  u8 select = 0;      // part of the register (SDWA): 1 to 4 a byte, 5 and 6 a half
  u64 bits = 0;       // of an integer or a literal
  double number = 0;  // of a floating-point constant
};

enum class Counter : u8 { vector_memory, lds, scalar_memory };

struct Wave;
struct Instruction;
using Handler = void (*)(Wave&, const Instruction&);

struct Operation {
  Handler run = nullptr;
  int form = 0;             // meaning depends on the handler
  bool allows_clamp = false;
  u8 round_class = 0;       // 32: rounds as f32, 64: as f16 and f64, 0: does not round
  i8 loads = -1;            // the counter (Counter) of the load that writes operand 0
};

struct Instruction {
  Operation op;
  u64 pc = 0;  // offset in the object
  u32 size = 4;
  std::vector<Operand> at;  // operands in the order of the text
  const Instruction* second = nullptr;  // of a dual instruction
  std::string mnemonic, text;
  std::unordered_map<std::string, int> named;
  // modifiers, copied out of `named`
  int offset = 0, offset1 = 0, omod = 0, op_sel = 0, op_sel_hi = -1, neg_lo = 0, neg_hi = 0;
  u8 target_select = 0, target_unused = 0;  // SDWA; the rest becomes 0, its sign, or stays
  bool clamp = false, has_lanes = false, bound_ctrl = false, fetch_inactive = false;
  std::vector<i8> lane_from;  // of DPP: where each lane's first source comes from; -1: nowhere
  std::vector<u8> lane_on;    // of DPP: row_mask and bank_mask
  int vmcnt = -1, lgkmcnt = -1;
  mutable int target = -1;    // of a branch: the index of the instruction
};

struct Kernel {
  std::string name;
  u64 entry = 0;
  u32 lds_bytes = 0, private_bytes = 0, kernarg_bytes = 0, rsrc1 = 0, rsrc2 = 0, properties = 0;
  u32 preload = 0;
  int n_vectors = 256, width = 32;
  struct Hidden { std::string kind; u32 offset, bytes; };
  std::vector<Hidden> hidden;
  u64 executed = 0, launches = 0;
};

struct Range {
  u64 low, high;
  char* host;  // where the bytes of `low` are
};

struct Object {
  int generation = 11;
  u64 base = 0;  // address of the loaded image
  std::vector<char> image;
  std::vector<Range> ranges;   // the image, with redirected symbols before it
  std::vector<Instruction> code;
  std::vector<Instruction> seconds;
  std::unordered_map<u64, int> index;  // offset -> instruction
  std::unordered_map<std::string, Kernel> kernels;
  struct Symbol { u64 offset, bytes; };
  std::unordered_map<std::string, Symbol> symbols;
  bool tracks_waits = true, packs_ids = false;
};

struct Group {  // one workgroup
  u32 index[3];
  std::vector<char> lds;
  std::vector<Wave> waves;
  int arrived = 0, live = 0;
};

struct Launch {
  Object* object;
  Kernel* kernel;
  u32 grid[3], block[3];
  u32 dynamic_lds;
  bool is_cooperative = false;
  std::vector<char> kernarg;
  std::vector<char> packet, sync;
  std::vector<Range> ranges;  // memory of this launch alone
  u64 executed = 0;
  int grid_arrived = 0, grid_live = 0;
};

enum class State : u8 { running, barrier, grid_barrier, done };

struct Wave {
  Launch* launch = nullptr;
  Group* group = nullptr;
  State state = State::running;
  int width = 32, next = 0, id = 0;  // next: index of the instruction that follows
  bool yields = false;
  u32 s[N_SCALARS] = {};
  std::vector<u32> vectors;
  std::vector<char> scratch;
  u32 scratch_bytes = 0;
  u32 mode = 0;     // as s_getreg_b32 reads MODE: round in bits 0-3, denormals in bits 4-7
  u64 clock = 0;
  // wait counts: how many accesses were issued and are known to have completed, by counter
  u32 issued[3] = {}, completed[3] = {};
  std::vector<u32> vector_mark, lds_mark;
  u32 scalar_mark[N_SCALARS] = {};

  u32* row(int reg) { return vectors.data() + std::size_t(reg) * LANES; }
  u64 exec() const { return s[EXEC] | (width == 64 ? u64{s[EXEC + 1]} << 32 : 0); }
  void set_mask(int reg, u64 value) {
    s[reg] = u32(value);
    if (width == 64) s[reg + 1] = u32(value >> 32);
  }
  u64 mask(int reg) const { return s[reg] | (width == 64 ? u64{s[reg + 1]} << 32 : 0); }
  bool flushes32_in() const { return !(mode >> 4 & 1); }
  bool flushes32_out() const { return !(mode >> 5 & 1); }
  bool flushes64_in() const { return !(mode >> 6 & 1); }
  bool flushes64_out() const { return !(mode >> 7 & 1); }
};

using Table = std::unordered_map<std::string, Operation>;
void add_vector_float(Table&);
void add_vector_integer(Table&);
void add_compares(Table&);
void add_packed(Table&);
void add_lanes(Table&);
void add_scalar(Table&);
void add_control(Table&);
void add_memory(Table&);
void add_matrix(Table&);
const Table& operations();

[[noreturn]] void gap(const Instruction&, const std::string& why = "");
char* memory_at(Wave&, u64 address, u32 bytes, const Instruction&);
void mark_vectors(Wave&, const Operand&, Counter, u32 words);
void mark_scalars(Wave&, const Operand&);
void set_rounding(u32 round);

}  // namespace isa
