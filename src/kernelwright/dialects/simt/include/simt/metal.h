// The form of a dispatch of a kernel in MSL, and its call; no header of C or C++ is read.
#pragma once

namespace simt_metal {

constexpr unsigned N_BUFFERS = 31;  // Metal feature set tables: buffers per function
constexpr int REFUSED = 96;         // exit code for arguments that do not fit the parameters

struct Argument {
  unsigned long offset, bytes;
  unsigned long is_number;  // bytes copied by value, not a tensor's
};

struct Region {
  unsigned long offset, bytes;
};

struct Job {  // at the beginning of the shared memory
  unsigned entry, threads[3], group[3], n_arguments, n_regions, unused;
  Argument arguments[N_BUFFERS];
  Region regions[N_BUFFERS];
};

struct Parameter {  // where a parameter's value comes from
  enum Kind : unsigned { buffer, builtin };
  Kind kind;
  unsigned index;
  unsigned long bytes;  // that it reads by value; 0 for a pointer
};

struct Entry {
  void (*call)(void** buffers, const unsigned* threads, const unsigned* group);
  const Parameter* places;
  int n_places;
};

}  // namespace simt_metal
