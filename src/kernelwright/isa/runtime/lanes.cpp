// Movement of values between the lanes of a wave: DPP, reads and writes of one lane, permutations.
#include "values.h"

namespace isa {

u64 moved_lanes(Wave& w, const Instruction& i, u64 exec) {
  u64 lanes = 0;
  for (int l = 0; l < w.width; ++l) {
    const int from = i.lane_from[l];
    const bool is_valid = from >= 0 && (i.fetch_inactive || exec >> from & 1);
    lanes |= u64{i.lane_on[l] && (is_valid || i.bound_ctrl)} << l;
  }
  return lanes & exec;
}

namespace {

int lane_index(const Wave& w, const Operand& o) { return int(scalar<u32>(w, o)) & (w.width - 1); }

void read_first_lane(Wave& w, const Instruction& i) {
  const u64 exec = w.exec();
  if (i.at[1].kind != Kind::vector) return set_scalar(w, i.at[0], scalar<u32>(w, i.at[1]));
  set_scalar(w, i.at[0], w.row(i.at[1].reg)[exec ? __builtin_ctzll(exec) : 0]);
}

void read_lane(Wave& w, const Instruction& i) {
  set_scalar(w, i.at[0], w.row(i.at[1].reg)[lane_index(w, i.at[2])]);
}

void write_lane(Wave& w, const Instruction& i) {
  w.row(i.at[0].reg)[lane_index(w, i.at[2])] = scalar<u32>(w, i.at[1]);
}

template <int FROM>  // 0: lanes 0 to 31, 32: lanes 32 to 63
void count_below(Wave& w, const Instruction& i) {  // target, mask, addend
  const u64 lanes = w.exec();
  for (int first = 0; first < w.width; first += CHUNK) {
    u32 a[CHUNK], b[CHUNK], r[CHUNK];
    fetch(w, i, 1, first, a), fetch(w, i, 2, first, b);
    for (int l = 0; l < CHUNK; ++l) {
      const int below = std::min(std::max(first + l - FROM, 0), 32);
      r[l] = b[l] + u32(__builtin_popcountll(u64{a[l]} & ((u64{1} << below) - 1)));
    }
    store(w, i, 0, first, r, lanes);
  }
}

template <bool CROSSES>  // lanes of a row of 16 from the row itself, or from its neighbour
void permute_row(Wave& w, const Instruction& i) {
  const u64 chosen = scalar<u32>(w, i.at[2]) | u64{scalar<u32>(w, i.at[3])} << 32, exec = w.exec();
  const bool fetches = i.op_sel & 1, bound = i.op_sel & 2;
  u32 old[LANES];
  std::memcpy(old, w.row(i.at[1].reg), sizeof old);
  for (int l = 0; l < w.width; ++l) {
    if (!(exec >> l & 1)) continue;
    const int from = ((l & ~15) ^ (CROSSES ? 16 : 0)) | int(chosen >> (l & 15) * 4 & 15);
    if (fetches || exec >> from & 1) w.row(i.at[0].reg)[l] = old[from];
    else if (bound) w.row(i.at[0].reg)[l] = 0;
  }
}

void permute_halves(Wave& w, const Instruction& i) {
  u32 old[LANES];
  std::memcpy(old, w.row(i.at[1].reg), sizeof old);
  for (int l = 0; l < w.width; ++l)
    if (w.exec() >> l & 1) w.row(i.at[0].reg)[l] = w.width == 64 ? old[l ^ 32] : old[l];
}

// The address of a lane is four times the lane that it reads from (or writes to).
template <bool IS_FORWARD>
void permute(Wave& w, const Instruction& i) {  // target, address, value
  const u64 exec = w.exec();
  u32 address[LANES], old[LANES], r[LANES] = {};
  std::memcpy(address, w.row(i.at[1].reg), sizeof address);
  for (int first = 0; first < w.width; first += CHUNK) fetch(w, i, 2, first, old + first);
  for (int l = 0; l < w.width; ++l) {
    const int other = int((address[l] + u32(i.offset)) >> 2) & (w.width - 1);
    if (!(exec >> l & 1)) continue;
    if (IS_FORWARD) r[other] = old[l];
    else r[l] = exec >> other & 1 ? old[other] : 0;
  }
  for (int l = 0; l < w.width; ++l)
    if (exec >> l & 1) w.row(i.at[0].reg)[l] = r[l];
  mark_vectors(w, i.at[0], Counter::lds, 1);
}

void swizzle(Wave& w, const Instruction& i) {  // target, value; the pattern is the offset
  const u64 exec = w.exec();
  u32 old[LANES];
  std::memcpy(old, w.row(i.at[1].reg), sizeof old);
  const int pattern = i.offset;
  if (pattern >= 0xe000) gap(i, "this pattern");
  for (int l = 0; l < w.width; ++l) {
    if (!(exec >> l & 1)) continue;
    int from;
    if (pattern & 0x8000) {
      from = (l & ~3) | (pattern >> (l & 3) * 2 & 3);
    } else {
      const int in = l & 31, kept = pattern & 31, set = pattern >> 5 & 31, flipped = pattern >> 10 & 31;
      from = (l & 32) | (((in & kept) | set) ^ flipped);
    }
    w.row(i.at[0].reg)[l] = exec >> from & 1 ? old[from] : 0;
  }
  mark_vectors(w, i.at[0], Counter::lds, 1);
}

}  // namespace

void add_lanes(Table& t) {
  t["v_readfirstlane_b32"] = {read_first_lane};
  t["v_readlane_b32"] = {read_lane};
  t["v_writelane_b32"] = {write_lane};
  t["v_mbcnt_lo_u32_b32"] = {count_below<0>};
  t["v_mbcnt_hi_u32_b32"] = {count_below<32>};
  t["v_permlane16_b32"] = {permute_row<false>};
  t["v_permlanex16_b32"] = {permute_row<true>};
  t["v_permlane64_b32"] = {permute_halves};
  t["ds_bpermute_b32"] = {permute<false>};
  t["ds_permute_b32"] = {permute<true>};
  t["ds_swizzle_b32"] = {swizzle};
}

}  // namespace isa
