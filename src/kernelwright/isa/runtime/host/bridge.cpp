// Kernels of a program of the emulation (dialects/simt) as launches of the emulator of instructions.
#include <cxxabi.h>
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "isa.h"
#include "runtime.h"

namespace {

using simt::machine;

constexpr int FAULT_EXIT = 98;  // exit code of a program of which a launch failed

struct Symbol { std::uintptr_t at; std::size_t bytes; std::string name; bool is_function; };

struct Bridge {
  std::vector<Symbol> symbols;                          // of the program itself
  std::vector<std::pair<void*, std::string>> kernels;   // (object, name)
  std::map<std::string, std::pair<void*, std::string>> known;  // by the host's name
  std::string fault;
  unsigned long long launches = 0;
};

// A mangled name as text, without what HIP's headers call differently from ours.
std::string plain(const std::string& mangled) {
  int status = 0;
  char* made = abi::__cxa_demangle(mangled.substr(0, mangled.find('.')).c_str(), nullptr, nullptr, &status);
  std::string text = made && !status ? made : mangled;
  std::free(made);
  static const std::map<std::string, std::string> VECTORS = {
      {"unsigned int", "uint"}, {"unsigned char", "uchar"}, {"unsigned short", "ushort"},
      {"unsigned long", "ulong"}, {"unsigned long long", "ulonglong"}, {"long long", "longlong"}, {"signed char", "char"}};
  const std::string head = "HIP_vector_type<";
  for (auto at = text.find(head); at != std::string::npos; at = text.find(head, at)) {
    const auto end = text.find('>', at), comma = text.rfind(',', end);
    std::string element = text.substr(at + head.size(), comma - at - head.size());
    if (const auto found = VECTORS.find(element); found != VECTORS.end()) element = found->second;
    text.replace(at, end + 1 - at, element + text.substr(comma + 2, end - comma - 3));
  }
  return text;
}

std::string base_of(const std::string& text) { return text.substr(0, text.find('(')); }

void read_symbols(Bridge& bridge) {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  const std::string bytes = all.str();
  const auto* head = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + head->e_shoff);
  for (int k = 0; k < head->e_shnum; ++k) {
    if (sections[k].sh_type != SHT_SYMTAB) continue;
    const char* names = bytes.data() + sections[sections[k].sh_link].sh_offset;
    const auto* first = reinterpret_cast<const Elf64_Sym*>(bytes.data() + sections[k].sh_offset);
    for (std::size_t s = 0; s < sections[k].sh_size / sizeof(Elf64_Sym); ++s) {
      const int type = ELF64_ST_TYPE(first[s].st_info);
      if (first[s].st_size && (type == STT_FUNC || type == STT_OBJECT))
        bridge.symbols.push_back({first[s].st_value, first[s].st_size, names + first[s].st_name, type == STT_FUNC});
    }
  }
}

void fail(const std::string& why);

int find_memory(unsigned long long at, unsigned long long* low, unsigned long long* high) {
  return simt::simt_memory_of(at, low, high);
}

void write_report(Bridge& bridge) {
  const char* path = std::getenv("ISA_REPORT");
  std::FILE* out = path ? std::fopen(path, "w") : nullptr;
  if (!out) return;
  std::string fault;
  for (char c : bridge.fault) fault += c == '"' || c == '\\' ? '\'' : c < ' ' ? ' ' : c;
  std::fprintf(out, "{\"launches\": %llu, \"others\": %llu, \"fault\": \"%s\", \"kernels\": [", bridge.launches,
               static_cast<unsigned long long>(machine.launch_id) - bridge.launches, fault.c_str());
  const char* comma = "";
  for (const auto& [object, name] : bridge.kernels) {
    std::fprintf(out, "%s{\"name\": \"%s\", \"executed\": %llu}", comma, name.c_str(), isa_executed(object, name.c_str()));
    comma = ", ";
  }
  std::fprintf(out, "]}\n");
  std::fclose(out);
}

// A variable that both sides have is the host's.
void place_variables(Bridge& bridge, void* object) {
  std::map<std::string, std::vector<const Symbol*>> by_name;
  for (const Symbol& s : bridge.symbols)
    if (!s.is_function) by_name[plain(s.name)].push_back(&s);
  isa_each_symbol(object, [](void* to, void* of, const char* name) {
    auto& known = *static_cast<decltype(by_name)*>(to);
    std::size_t bytes = 0;
    isa_symbol(of, name, &bytes);
    for (const Symbol* s : known[plain(name)])
      if (s->bytes == bytes) isa_place_symbol(of, name, reinterpret_cast<void*>(s->at));
  }, &by_name);
}

Bridge& bridge() {
  static Bridge& made = *[] {
    auto* b = new Bridge;
    read_symbols(*b);
    isa_find_memory(find_memory);
    std::istringstream listings(std::getenv("ISA_LISTINGS") ? std::getenv("ISA_LISTINGS") : "");
    for (std::string path; std::getline(listings, path);) {
      void* object = isa_load(path.c_str());
      if (!object) {
        b->fault = isa_error();
        continue;
      }
      struct To { Bridge* b; void* object; } to{b, object};
      isa_each_kernel(object, [](void* t, const char* name) {
        static_cast<To*>(t)->b->kernels.emplace_back(static_cast<To*>(t)->object, name);
      }, &to);
      place_variables(*b, object);
    }
    std::atexit([] { write_report(bridge()); });
    return b;
  }();
  return made;
}

void fail(const std::string& why) {
  std::string& fault = bridge().fault;
  if (fault.empty()) fault = why;  // a listing that could not be loaded is the first reason
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::exit(FAULT_EXIT);
}

const Symbol* function_at(std::uintptr_t site) {
  for (const Symbol& s : bridge().symbols)
    if (s.is_function && site > s.at && site <= s.at + s.bytes) return &s;
  return nullptr;
}

const std::pair<void*, std::string>* kernel_of(const std::string& host) {
  Bridge& b = bridge();
  if (const auto found = b.known.find(host); found != b.known.end()) return &found->second;
  const std::string wanted = plain(host);
  const std::pair<void*, std::string>* like = nullptr;
  int n_like = 0;
  for (const auto& kernel : b.kernels) {
    const std::string text = plain(kernel.second);
    if (kernel.second == host || text == wanted) return &(b.known[host] = kernel);
    if (base_of(text) == base_of(wanted)) like = &kernel, ++n_like;
  }
  return n_like == 1 ? &(b.known[host] = *like) : nullptr;
}

}  // namespace

extern "C" void simt_offload(const void* arguments, std::size_t bytes, std::uintptr_t site) {
  if (machine.is_offloaded) return;  // the first thread of a launch has run all of it
  machine.is_offloaded = true;
  machine.in_device = false;
  const Symbol* host = function_at(site);
  const auto* kernel = host ? kernel_of(host->name) : nullptr;
  if (!kernel) fail("no kernel: " + (host ? plain(host->name) : std::string("unnamed")));
  if (kernel->second.find("__hip_texture") != std::string::npos)
    fail("emulator gap: textures, in " + plain(kernel->second));
  const auto& at = machine.config;
  const unsigned grid[3] = {at.grid.x, at.grid.y, at.grid.z}, block[3] = {at.block.x, at.block.y, at.block.z};
  ++bridge().launches;
  if (isa_launch(kernel->first, kernel->second.c_str(), grid, block, unsigned(at.shared_bytes), arguments, bytes, at.is_cooperative))
    fail(isa_error());
  machine.in_device = true;
}
