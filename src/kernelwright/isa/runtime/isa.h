// The emulator's C interface. A listing is the file that `kernelwright.isa.listing_of` writes for a
// code object. All functions must be called from one thread.
#pragma once
#include <cstddef>

extern "C" {
// Loads a listing; null if it cannot be read, for the reason that isa_error gives.
void* isa_load(const char* listing);
void isa_unload(void* object);

// Runs a kernel to its end. `kernargs` are the explicit arguments, each at the offset that its
// natural alignment gives (HIP's and CUDA's layout); hidden arguments are filled in here.
// Returns 0; or 1 if an instruction is unknown ("emulator gap"), or did what no GPU may do ("wait",
// "out-of-bounds", "trap", "hang", "no kernel"): isa_error says "KIND: detail".
int isa_launch(void* object, const char* kernel, const unsigned grid[3], const unsigned block[3],
               unsigned dynamic_lds_bytes, const void* kernargs, std::size_t kernarg_bytes,
               int is_cooperative);
const char* isa_error();

// Instructions that the kernel's waves have executed in all launches.
unsigned long long isa_executed(void* object, const char* kernel);
int isa_each_kernel(void* object, void (*tell)(void*, const char* name), void* to);

// A variable of the object: its bytes here; null if there is none.
void* isa_symbol(void* object, const char* name, std::size_t* bytes);
int isa_each_symbol(void* object, void (*tell)(void*, void* object, const char* name), void* to);
// Accesses to a variable of the object go to `host` from now on. Returns 1 if there is none.
int isa_place_symbol(void* object, const char* name, void* host);

// Memory that kernels may access. Addresses are the host's own.
// A function that finds the allocation that an address is in: it returns 0 if none.
void isa_find_memory(int (*find)(unsigned long long at, unsigned long long* low,
                                 unsigned long long* high));
void isa_add_memory(const void* at, std::size_t bytes);
void isa_drop_memory(const void* at);

// The texts of all instructions of an object that would be emulator gaps, one a line.
const char* isa_unknown(void* object);
}
