// Plain reads that met another thread's atomic: a race, unless the reader then compares and swaps
// the value that it read. The loops around atomicCAS in the CUDA C++ Programming Guide begin so.
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>

#include "runtime.h"

namespace simt {
namespace {

struct Suspect {
  unsigned char found[16];
  std::size_t bytes = 0;
  const char* detail = nullptr;
  std::uint64_t count = 0;
};

// By reader, address and site. Never destroyed: the report is written when the program ends.
using Key = std::tuple<unsigned, std::uintptr_t, std::uintptr_t>;
auto& suspects = *new std::map<Key, Suspect>;

void accuse(const Key& key, const Suspect& suspect) {
  for (std::uint64_t i = 0; i < suspect.count; ++i)
    complain("race", std::get<2>(key), suspect.detail);
}

}  // namespace

// Called before the memory changes, so that it still holds the value that was read.
void suspect(unsigned reader, std::uintptr_t at, std::size_t bytes, std::uintptr_t site,
             const char* detail) {
  const OwnMemory own;
  const Key key{reader, at, site};
  Suspect made{{}, bytes, detail, 1};
  if (bytes > sizeof made.found) return accuse(key, made);
  std::memcpy(made.found, reinterpret_cast<const void*>(at), bytes);
  Suspect& known = suspects[key];
  const bool is_same = known.bytes == bytes && !std::memcmp(known.found, made.found, bytes);
  if (is_same) made.count += known.count;
  else accuse(key, known);
  known = made;
}

void clear_suspect(unsigned reader, std::uintptr_t at, std::size_t bytes, const void* expected) {
  const OwnMemory own;
  auto known = suspects.lower_bound({reader, at, 0});
  while (known != suspects.end() && std::get<0>(known->first) == reader &&
         std::get<1>(known->first) == at) {
    const Suspect& found = known->second;
    const bool is_compared = found.bytes == bytes && !std::memcmp(found.found, expected, bytes);
    known = is_compared ? suspects.erase(known) : std::next(known);
  }
}

void settle_suspects() {
  for (const auto& [key, value] : suspects) accuse(key, value);
  suspects.clear();
}

}  // namespace simt
