// The main program around kernels in MSL: one dispatch, as a job in memory that its caller shares.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simt/core.h"
#include "simt/metal.h"

namespace {

using namespace simt_metal;

// The parameter's own size is known to the compiler alone. Returns what is wrong, or nothing.
bool fits(const Parameter& place, const Job& job, int number) {
  if (place.kind != Parameter::buffer) return true;
  if (place.index >= job.n_arguments) {
    std::printf("parameter %d reads buffer(%u), and %u arguments are given", number, place.index,
                job.n_arguments);
    return false;
  }
  const Argument& given = job.arguments[place.index];
  const bool is_short = given.bytes < place.bytes;
  if (is_short || (given.is_number && place.bytes && given.bytes != place.bytes)) {
    std::printf("argument %u has %lu bytes, and parameter %d takes %lu%s", place.index, given.bytes,
                number, place.bytes,
                given.is_number ? ": an int is an int64 (long) and a float a float, unless "
                                  "arg_casts says otherwise" : "");
    return false;
  }
  return true;
}

}  // namespace

// clang calls it to round a float to bfloat: to the nearest, ties to even. libgcc has it from version
// 13 on.
extern "C" __bf16 __truncsfbf2(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const unsigned up = value == value ? 0x7fffu + (bits >> 16 & 1u) : 0u;
  const auto upper = static_cast<unsigned short>((bits + up) >> 16 | (value == value ? 0u : 0x40u));
  __bf16 rounded;
  __builtin_memcpy(&rounded, &upper, sizeof rounded);
  return rounded;
}

extern "C" int simt_metal_main(const char* path, const Entry* entries) {
  const int file = open(path, O_RDWR);
  struct stat about;
  if (file < 0 || fstat(file, &about)) return 1;
  void* mapped = mmap(nullptr, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return 1;
  char* base = static_cast<char*>(mapped);
  const Job& job = *reinterpret_cast<Job*>(base);
  const Entry& entry = entries[job.entry];
  for (int i = 0; i < entry.n_places; ++i)
    if (!fits(entry.places[i], job, i)) return REFUSED;
  void* buffers[N_BUFFERS] = {};
  for (unsigned i = 0; i < job.n_arguments; ++i) buffers[i] = base + job.arguments[i].offset;
  for (unsigned i = 0; i < job.n_regions; ++i)
    simt::simt_add_memory(base + job.regions[i].offset, job.regions[i].bytes);
  const unsigned *t = job.threads, *g = job.group;
  simt::Config config;
  config.threads = {t[0], t[1], t[2]};
  config.block = {g[0], g[1], g[2]};
  config.grid = {(t[0] + g[0] - 1) / g[0], (t[1] + g[1] - 1) / g[1], (t[2] + g[2] - 1) / g[2]};
  return simt::run(config, [&] {
    simt::simt_enter();
    entry.call(buffers, job.threads, job.group);
  });
}
