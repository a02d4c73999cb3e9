// domain: crypto
// hazards: constant
// expect: digest d536414e right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// One message of 55 bytes a thread through SHA-256's rounds.
__constant__ unsigned k[64];
__host__ __device__ unsigned turn(unsigned v, int n) { return v >> n | v << (32 - n); }
__host__ __device__ void rounds(const unsigned* table, unsigned* w, unsigned* state) {
  for (int i = 16; i < 64; ++i) {
    unsigned a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  unsigned s[8];
  for (int i = 0; i < 8; ++i) s[i] = state[i];
  for (int i = 0; i < 64; ++i) {
    unsigned t = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + table[i] + w[i];
    unsigned u = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; --j) s[j] = s[j - 1];
    s[4] += t, s[0] = t + u;
  }
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}
__host__ __device__ unsigned hash(const unsigned* table, unsigned id) {
  unsigned w[64], state[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  for (int i = 0; i < 14; ++i) w[i] = id * 0x9e3779b9u + i;
  w[13] = (w[13] & 0xffffff00u) | 0x80u, w[14] = 0, w[15] = 55 * 8;
  rounds(table, w, state);
  return state[0] ^ state[7];
}
__global__ void digest(unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = hash(k, i);
}

int main() {
  const int n = 70;
  unsigned table[64], found = 0;
  for (unsigned p = 2; found < 64; ++p) {  // the first 32 bits behind the point of cube roots of primes
    bool is_prime = true;
    for (unsigned q = 2; q * q <= p; ++q) is_prime &= p % q != 0;
    if (!is_prime) continue;
    unsigned long long root = 0;
    for (int bit = 34; bit >= 0; --bit) {
      unsigned __int128 t = root | 1ull << bit;
      if (t * t * t <= static_cast<unsigned __int128>(p) << 96) root |= 1ull << bit;
    }
    table[found++] = static_cast<unsigned>(root);
  }
  cudaMemcpyToSymbol(k, table, sizeof table);
  unsigned *d, got[n], all = 0;
  cudaMalloc(&d, sizeof got);
  digest<<<3, 32>>>(d, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  bool right = table[0] == 0x428a2f98u && table[63] == 0xc67178f2u;
  for (int i = 0; i < n; ++i) right &= got[i] == hash(table, i), all ^= got[i];
  printf("digest %08x %s\n", all, right ? "right" : "WRONG");
}
