// Reads the listing of a code object (written by listing.py), and the C interface of the emulator.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "isa.h"
#include "launch.h"
#include "values.h"

namespace isa {
namespace {

std::string error;
std::map<u64, Range>& allocations() {  // what programs have allocated, by the address of its end
  static auto& all = *new std::map<u64, Range>;
  return all;
}
Range recent{0, 0, nullptr};  // the allocation that was accessed last
int (*find_elsewhere)(unsigned long long, unsigned long long*, unsigned long long*) = nullptr;

char* within(const Range& r, u64 address, u32 bytes) {
  return address >= r.low && address + bytes <= r.high ? r.host + (address - r.low) : nullptr;
}

Operand read_operand(std::string word) {
  Operand o;
  while (!word.empty() && (word[0] == '-' || word[0] == '|' || word[0] == '+')) {
    (word[0] == '-' ? o.is_negated : word[0] == '|' ? o.is_absolute : o.is_sign_extended) = true;
    word.erase(0, 1);
  }
  const char kind = word[0];
  const std::string rest = word.substr(1);
  if (kind == 'v' || kind == 's') {  // v<index>:<words>[.l|.h]
    o.kind = kind == 'v' ? Kind::vector : Kind::scalar;
    o.reg = u16(std::stoi(rest));
    o.words = u8(std::stoi(rest.substr(rest.find(':') + 1)));
    if (rest.size() > 2 && rest[rest.size() - 2] == '.') o.half = rest.back() == 'h' ? 2 : 1;
  } else if (kind == 'k' || kind == 'l') {
    o.kind = kind == 'k' ? Kind::integer : Kind::literal;
    o.bits = kind == 'k' ? u64(std::stoll(rest)) : std::stoull(rest, nullptr, 16);
  } else if (kind == 'f') {
    o.kind = Kind::number;
    o.number = std::stod(rest);
  }
  return o;
}


void set_modifiers(Instruction& i) {
  const auto given = [&](const char* key, int otherwise) {
    const auto found = i.named.find(key);
    return found == i.named.end() ? otherwise : found->second;
  };
  i.offset = given("offset", given("offset0", 0)), i.offset1 = given("offset1", 0);
  i.omod = given("omod", 0), i.clamp = given("clamp", 0);
  const bool is_mixed = i.mnemonic.rfind("v_fma_mix", 0) == 0;
  i.op_sel = given("op_sel", 0), i.op_sel_hi = given("op_sel_hi", is_mixed ? 0 : 7);
  i.neg_lo = given("neg_lo", 0), i.neg_hi = given("neg_hi", 0);
  i.vmcnt = given("vmcnt", -1), i.lgkmcnt = given("lgkmcnt", -1);
  i.bound_ctrl = given("bound_ctrl", 0), i.fetch_inactive = given("fi", 0);
  i.target_select = u8(given("dst_sel", 0)), i.target_unused = u8(given("dst_unused", 0));
  const std::size_t first_source = i.mnemonic.find("_co_") != std::string::npos ? 2 : 1;
  for (std::size_t k = 0; k < 2 && first_source + k < i.at.size(); ++k)
    i.at[first_source + k].select = u8(given(k ? "src1_sel" : "src0_sel", 0));
  i.has_lanes = i.named.count("has_lanes");
}

void read_lane_list(const std::string& text, std::vector<i8>& from, std::vector<u8>& on) {
  // "<from>,<from>,...;<mask of lanes, hexadecimal>"
  std::string part;
  const auto cut = text.find(';');
  std::istringstream list(text.substr(0, cut));
  while (std::getline(list, part, ',')) from.push_back(i8(std::stoi(part)));
  const u64 mask = std::stoull(text.substr(cut + 1), nullptr, 16);
  for (int l = 0; l < LANES; ++l) on.push_back(mask >> l & 1);
}

// "<offset> <size> <mnemonic> [key=value ...] ; operand ... \t text"
Instruction read_instruction(const std::string& line) {
  Instruction i;
  const auto tab = line.find('\t');
  i.text = line.substr(tab + 1);
  std::istringstream in(line.substr(0, tab));
  in >> std::hex >> i.pc >> std::dec >> i.size >> i.mnemonic;
  std::string word;
  while (in >> word && word != ";") {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "lanes") {
      i.named["has_lanes"] = 1;
      read_lane_list(value, i.lane_from, i.lane_on);
    } else {
      i.named[key] = std::stoi(value);
    }
  }
  while (in >> word) i.at.push_back(read_operand(word));
  set_modifiers(i);
  const auto found = operations().find(i.mnemonic);
  if (found != operations().end() && !i.named.count("unknown")) i.op = found->second;
  if (i.clamp && !i.op.allows_clamp) i.op.run = nullptr;
  return i;
}

void read_kernel(Object& object, std::istringstream& in) {
  Kernel k;
  in >> k.name >> std::hex >> k.entry >> std::dec >> k.lds_bytes >> k.private_bytes >> k.kernarg_bytes >> k.rsrc1 >>
      k.rsrc2 >> k.properties >> k.preload >> k.n_vectors >> k.width;
  object.kernels[k.name] = k;
}

void read_line(Object& object, const std::string& line) {
  std::istringstream in(line);
  std::string kind, name;
  in >> kind;
  if (kind == "generation") in >> object.generation >> object.packs_ids;
  else if (kind == "kernel") read_kernel(object, in);
  else if (kind == "hidden") {
    Kernel::Hidden h;
    in >> name >> h.kind >> h.offset >> h.bytes;
    object.kernels.at(name).hidden.push_back(h);
  } else if (kind == "symbol") {
    Object::Symbol s;
    in >> name >> std::hex >> s.offset >> std::dec >> s.bytes;
    object.symbols[name] = s;
  } else if (kind == "image") {
    std::size_t size;
    in >> size;
    object.image.assign(size, 0);
    object.base = u64(object.image.data());
  } else if (kind == "bytes") {
    u64 offset;
    std::string hex;
    in >> std::hex >> offset >> hex;
    for (std::size_t k = 0; k + 1 < hex.size(); k += 2) object.image[offset + k / 2] = char(std::stoi(hex.substr(k, 2), nullptr, 16));
  } else if (kind == "address") {  // the word at an offset is the address of another
    u64 at, to;
    in >> std::hex >> at >> to;
    to += object.base;
    std::memcpy(&object.image[at], &to, 8);
  } else if (kind == "i") {
    object.code.push_back(read_instruction(line.substr(2)));
  } else if (kind == "d") {  // the second half of the dual instruction before
    object.seconds.push_back(read_instruction(line.substr(2)));
    object.code.back().second = reinterpret_cast<const Instruction*>(object.seconds.size());
  }
}

Object* read(const char* path) {
  std::ifstream in(path);
  if (!in) throw Fault{"listing", std::string("no file ") + path};
  auto object = std::make_unique<Object>();
  std::string line;
  while (std::getline(in, line)) read_line(*object, line);
  for (std::size_t k = 0; k < object->code.size(); ++k) {
    Instruction& i = object->code[k];
    if (i.second) i.second = &object->seconds[reinterpret_cast<std::size_t>(i.second) - 1];
    object->index[i.pc] = int(k);
  }
  object->ranges.push_back({object->base, object->base + object->image.size(), object->image.data()});
  return object.release();
}

u64 hidden_value(const Launch& at, const std::string& kind) {
  const auto axis = [&](const char* name) {
    return kind.rfind(name, 0) == 0 ? kind.back() - 'x' : -1;
  };
  if (int k = axis("hidden_block_count_"); k >= 0) return at.grid[k];
  if (int k = axis("hidden_group_size_"); k >= 0) return at.block[k];
  if (kind == "hidden_grid_dims") return at.grid[2] > 1 || at.block[2] > 1 ? 3 : at.grid[1] > 1 || at.block[1] > 1 ? 2 : 1;
  if (kind == "hidden_multigrid_sync_arg") return u64(at.sync.data());
  if (kind == "hidden_dynamic_lds_size") return at.dynamic_lds;
  if (kind == "hidden_shared_base") return SHARED_APERTURE >> 32;
  if (kind == "hidden_private_base") return PRIVATE_APERTURE >> 32;
  return 0;
}

void prepare(Launch& at, const void* kernargs, std::size_t bytes) {
  at.kernarg.assign(std::max<std::size_t>(at.kernel->kernarg_bytes, bytes) + 64, 0);
  if (bytes) std::memcpy(at.kernarg.data(), kernargs, bytes);
  // Barriers of a cooperative grid. Source: ROCm device-libs, ockl/src/cg.cl, struct mg_info: the
  // count of arrived workgroups at 32, the number of workgroups at 40.
  at.sync.assign(64, 0);
  const u32 n_groups = at.grid[0] * at.grid[1] * at.grid[2];
  std::memcpy(&at.sync[40], &n_groups, 4);
  at.ranges.push_back({u64(at.sync.data()), u64(at.sync.data() + 64), at.sync.data()});
  for (const auto& h : at.kernel->hidden) {
    const u64 value = hidden_value(at, h.kind);
    std::memcpy(at.kernarg.data() + h.offset, &value, std::min(h.bytes, 8u));
  }
  // Source: HSA Platform System Architecture, 2.9.6, kernel dispatch packet.
  at.packet.assign(64, 0);
  for (int k = 0; k < 3; ++k) {
    const u16 size = u16(at.block[k]);
    const u32 whole = at.grid[k] * at.block[k];
    std::memcpy(&at.packet[std::size_t(4 + 2 * k)], &size, 2);
    std::memcpy(&at.packet[std::size_t(12 + 4 * k)], &whole, 4);
  }
  at.ranges.push_back({u64(at.kernarg.data()), u64(at.kernarg.data() + at.kernarg.size()), at.kernarg.data()});
  at.ranges.push_back({u64(at.packet.data()), u64(at.packet.data() + 64), at.packet.data()});
}

}  // namespace

char* memory_at(Wave& w, u64 address, u32 bytes, const Instruction& i) {
  if (char* at = within(recent, address, bytes)) return at;
  for (const auto* ranges : {&w.launch->ranges, &w.launch->object->ranges})
    for (const Range& r : *ranges)
      if (char* at = within(r, address, bytes)) return at;
  const auto found = allocations().upper_bound(address);
  if (found != allocations().end())
    if (char* at = within(found->second, address, bytes)) {
      recent = found->second;
      return at;
    }
  unsigned long long low, high;
  if (find_elsewhere && find_elsewhere(address, &low, &high)) {
    const Range range{low, high, reinterpret_cast<char*>(low)};
    if (char* at = within(range, address, bytes)) {
      recent = range;
      return at;
    }
  }
  char text[96];
  std::snprintf(text, sizeof text, "%u bytes at 0x%llx, which no allocation has: ", bytes, static_cast<unsigned long long>(address));
  throw Fault{"out-of-bounds", text + i.text};
}

}  // namespace isa

using namespace isa;

extern "C" {

void* isa_load(const char* listing) try {
  return read(listing);
} catch (const Fault& fault) {
  error = fault.kind + ": " + fault.detail;
  return nullptr;
} catch (const std::exception& fault) {
  error = std::string("listing: ") + fault.what();
  return nullptr;
}

void isa_unload(void* object) { delete static_cast<Object*>(object); }

int isa_launch(void* object, const char* kernel, const unsigned* grid, const unsigned* block,
               unsigned dynamic_lds_bytes, const void* kernargs, std::size_t kernarg_bytes, int is_cooperative) try {
  auto& of = *static_cast<Object*>(object);
  const auto found = of.kernels.find(kernel);
  if (found == of.kernels.end()) throw Fault{"no kernel", kernel};
  Launch at{&of, &found->second, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_lds_bytes};
  at.is_cooperative = is_cooperative;
  prepare(at, kernargs, kernarg_bytes);
  recent = {};
  try {
    run_grid(at);
  } catch (...) {
    set_rounding(0);
    found->second.executed += at.executed;
    throw;
  }
  found->second.executed += at.executed;
  ++found->second.launches;
  return 0;
} catch (const Fault& fault) {
  error = fault.kind + ": " + fault.detail;
  return 1;
}

const char* isa_error() { return error.c_str(); }

unsigned long long isa_executed(void* object, const char* kernel) {
  const auto& kernels = static_cast<Object*>(object)->kernels;
  const auto found = kernels.find(kernel);
  return found == kernels.end() ? 0 : found->second.executed;
}

int isa_each_kernel(void* object, void (*tell)(void*, const char*), void* to) {
  for (const auto& [name, kernel] : static_cast<Object*>(object)->kernels) tell(to, name.c_str());
  return int(static_cast<Object*>(object)->kernels.size());
}

void* isa_symbol(void* object, const char* name, std::size_t* bytes) {
  auto& of = *static_cast<Object*>(object);
  const auto found = of.symbols.find(name);
  if (found == of.symbols.end()) return nullptr;
  if (bytes) *bytes = found->second.bytes;
  return of.image.data() + found->second.offset;
}

int isa_place_symbol(void* object, const char* name, void* host) {
  auto& of = *static_cast<Object*>(object);
  const auto found = of.symbols.find(name);
  if (found == of.symbols.end()) return 1;
  const u64 low = of.base + found->second.offset, high = low + found->second.bytes;
  of.ranges.insert(of.ranges.begin(), {low, high, static_cast<char*>(host)});
  return 0;
}

int isa_each_symbol(void* object, void (*tell)(void*, void*, const char*), void* to) {
  const auto& symbols = static_cast<Object*>(object)->symbols;
  for (const auto& [name, symbol] : symbols) tell(to, object, name.c_str());
  return int(symbols.size());
}

void isa_find_memory(int (*find)(unsigned long long, unsigned long long*, unsigned long long*)) { find_elsewhere = find; }

void isa_add_memory(const void* at, std::size_t bytes) {
  recent = {};
  allocations()[u64(at) + std::max<std::size_t>(bytes, 1)] = {u64(at), u64(at) + bytes, static_cast<char*>(const_cast<void*>(at))};
}

void isa_drop_memory(const void* at) {
  recent = {};
  auto& all = allocations();
  for (auto m = all.upper_bound(u64(at)); m != all.end() && m->second.low <= u64(at); m = all.erase(m)) {}
}

const char* isa_unknown(void* object) {  // texts of instructions that are emulator gaps, one a line
  static std::string all;
  all.clear();
  for (const Instruction& i : static_cast<Object*>(object)->code)
    if (!i.op.run || (i.second && !i.second->op.run)) all += i.text + "\n";
  return all.c_str();
}

}  // extern "C"
