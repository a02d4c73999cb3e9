// Control: branches, barriers, wait counts, hardware registers, messages.
#include "values.h"

namespace isa {
namespace {

enum Condition { ALWAYS, SCC0, SCC1, VCCZ, VCCNZ, EXECZ, EXECNZ };

bool holds(const Wave& w, int condition) {
  switch (condition) {
    case SCC0: return !w.s[SCC];
    case SCC1: return w.s[SCC];
    case VCCZ: return !w.mask(VCC);
    case VCCNZ: return w.mask(VCC);
    case EXECZ: return !w.exec();
    case EXECNZ: return w.exec();
    default: return true;
  }
}

void go_to(Wave& w, u64 offset, const Instruction& i) {
  const auto& index = w.launch->object->index;
  const auto found = index.find(offset);
  if (found == index.end()) throw Fault{"trap", "a jump to where no instruction is: " + i.text};
  w.next = found->second;
}

u64 relative(const Wave& w, const Instruction& i, int k) {
  return i.pc + 4 + u64(i64(i16(scalar<u32>(w, i.at[k]))) * 4);
}

void branch(Wave& w, const Instruction& i) {
  if (!holds(w, i.op.form)) return;
  if (i.target < 0) {
    go_to(w, relative(w, i, 0), i);
    i.target = w.next;
  }
  w.next = i.target;
}

void jump(Wave& w, const Instruction& i) {
  go_to(w, scalar<u64>(w, i.at[0]) - w.launch->object->base, i);
}

void call(Wave& w, const Instruction& i) {  // return address, target
  const u64 target = scalar<u64>(w, i.at[1]);
  set_scalar(w, i.at[0], w.launch->object->base + i.pc + i.size);
  go_to(w, target - w.launch->object->base, i);
}

void call_relative(Wave& w, const Instruction& i) {
  const u64 target = relative(w, i, 1);
  set_scalar(w, i.at[0], w.launch->object->base + i.pc + i.size);
  go_to(w, target, i);
}

void end(Wave& w, const Instruction&) { w.state = State::done; }

void barrier(Wave& w, const Instruction&) {
  w.state = State::barrier;
  ++w.group->arrived;
}

void wait_for(Wave& w, Counter counter, int n) {
  if (n < 0) return;
  const int c = int(counter);
  const u32 left = std::min<u32>(u32(n), w.issued[c]);
  w.completed[c] = std::max(w.completed[c], w.issued[c] - left);
}

// Loads from memory complete in order, and so do those of LDS; scalar loads complete in any order,
// so that only a wait for none of them says that one of them is there.
void wait(Wave& w, const Instruction& i) {
  wait_for(w, Counter::vector_memory, i.vmcnt);
  wait_for(w, Counter::lds, i.lgkmcnt);
  if (i.lgkmcnt == 0) wait_for(w, Counter::scalar_memory, 0);
}

void sleep(Wave& w, const Instruction&) { w.yields = true; }

void trap(Wave&, const Instruction& i) { throw Fault{"trap", i.text}; }

int named(const Instruction& i, const char* key) {
  const auto found = i.named.find(key);
  return found == i.named.end() ? 0 : found->second;
}

enum Hardware { MODE = 1, STATUS = 2, HW_ID = 4, SHADER_CYCLES = 29 };

u32 hardware(Wave& w, const Instruction& i) {
  switch (named(i, "hwreg")) {
    case MODE: return w.mode;
    case STATUS: return w.s[SCC];
    case SHADER_CYCLES: return u32(w.clock);
    case HW_ID: case 20: case 23: case 24: return u32(w.id);
    default: gap(i, "this hardware register");
  }
}

u32 hardware_mask(const Instruction& i) {
  const int size = named(i, "hwsize");
  return u32((u64{1} << size) - 1) << named(i, "hwoffset");
}

void get_register(Wave& w, const Instruction& i) {
  set_scalar(w, i.at[0], u32((hardware(w, i) & hardware_mask(i)) >> named(i, "hwoffset")));
}

void set_register(Wave& w, const Instruction& i) {
  if (named(i, "hwreg") != MODE) gap(i, "this hardware register");
  const u32 mask = hardware_mask(i), value = scalar<u32>(w, i.at[0]) << named(i, "hwoffset");
  w.mode = (w.mode & ~mask) | (value & mask);
}

void set_round(Wave& w, const Instruction& i) { w.mode = (w.mode & ~15u) | (scalar<u32>(w, i.at[0]) & 15); }
void set_denormals(Wave& w, const Instruction& i) {
  w.mode = (w.mode & ~0xf0u) | (scalar<u32>(w, i.at[0]) & 15) << 4;
}

void read_clock(Wave& w, const Instruction& i) {
  set_scalar(w, i.at[0], u64{w.clock});
  mark_scalars(w, i.at[0]);
}

void grid_barrier(Wave& w, const Instruction& i) {
  if (!w.launch->is_cooperative) gap(i, "a barrier of the grid outside a cooperative launch");
  w.state = State::grid_barrier;
  ++w.launch->grid_arrived;
}

void get_pc(Wave& w, const Instruction& i) {
  set_scalar(w, i.at[0], w.launch->object->base + i.pc + i.size);
}

}  // namespace

void add_control(Table& t) {
  const Handler nothing = [](Wave&, const Instruction&) {};
  for (const char* name :
       {"s_nop", "s_delay_alu", "s_clause", "s_waitcnt_depctr", "s_set_inst_prefetch_distance",
        "s_inst_prefetch", "s_sendmsg", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_wb",
        "s_gl1_inv", "s_ttracedata", "s_ttracedata_imm", "s_sethalt", "s_wait_idle", "s_wakeup",
        "s_waitcnt_vscnt", "s_waitcnt_expcnt", "v_nop", "buffer_gl0_inv", "buffer_gl1_inv",
        "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_inv", "buffer_wbl2", "buffer_invl2",
        "ds_nop", "s_wait_event"})
    t[name] = {nothing};
  t["s_waitcnt"] = t["s_waitcnt_vmcnt"] = t["s_waitcnt_lgkmcnt"] = {wait};
  t["s_branch"] = {branch, ALWAYS};
  t["s_cbranch_scc0"] = {branch, SCC0}, t["s_cbranch_scc1"] = {branch, SCC1};
  t["s_cbranch_vccz"] = {branch, VCCZ}, t["s_cbranch_vccnz"] = {branch, VCCNZ};
  t["s_cbranch_execz"] = {branch, EXECZ}, t["s_cbranch_execnz"] = {branch, EXECNZ};
  t["s_setpc_b64"] = {jump}, t["s_swappc_b64"] = {call}, t["s_call_b64"] = {call_relative};
  t["s_getpc_b64"] = {get_pc};
  t["s_endpgm"] = t["s_endpgm_saved"] = {end};
  t["s_barrier"] = {barrier};
  t["s_sleep"] = {sleep};
  t["s_trap"] = {trap};
  t["s_getreg_b32"] = {get_register};
  t["s_setreg_b32"] = t["s_setreg_imm32_b32"] = {set_register};
  t["s_round_mode"] = {set_round}, t["s_denorm_mode"] = {set_denormals};
  t["s_memtime"] = t["s_memrealtime"] = t["s_sendmsg_rtn_b64"] = {read_clock};
  t["ds_gws_init"] = {nothing}, t["ds_gws_barrier"] = {grid_barrier};
}

}  // namespace isa
