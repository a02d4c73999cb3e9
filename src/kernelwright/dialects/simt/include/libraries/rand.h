// Random numbers under the names of cuRAND and hipRAND, which RAND(x) and RAND_C(x) give.
// The numbers are not theirs: splitmix64 over a counter, so that statistics are right and runs are
// the same. Not covered: quasi-random sequences, discrete distributions of the program's own.
#include <cmath>
enum RAND(Status_t) { RAND_C(STATUS_SUCCESS), RAND_C(STATUS_NOT_INITIALIZED), RAND_C(STATUS_ALLOCATION_FAILED) };
enum RAND(RngType_t) { RAND_C(RNG_PSEUDO_DEFAULT), RAND_C(RNG_PSEUDO_XORWOW), RAND_C(RNG_PSEUDO_MRG32K3A), RAND_C(RNG_PSEUDO_MTGP32), RAND_C(RNG_PSEUDO_MT19937), RAND_C(RNG_PSEUDO_PHILOX4_32_10) };
struct RAND(State) {
  unsigned long long key, count;
  __host__ __device__ unsigned next() {
    unsigned long long z = key + ++count * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<unsigned>((z ^ (z >> 31)) >> 32);
  }
  __host__ __device__ float uniform() { return ((next() >> 8) + 1) * (1.0f / 16777216.0f); }
  __host__ __device__ double uniform_double() {
    const double high = next();
    return (high * 4294967296.0 + next() + 1.0) / 18446744073709551616.0;
  }
  __host__ __device__ float normal() {
    const float radius = sqrtf(-2.0f * logf(uniform()));
    return radius * cosf(6.2831853f * uniform());
  }
  __host__ __device__ double normal_double() {
    const double radius = sqrt(-2.0 * log(uniform_double()));
    return radius * cos(6.283185307179586 * uniform_double());
  }
  __host__ __device__ unsigned poisson(double mean) {  // Knuth, The Art of Computer Programming 2, 3.4.1
    const double least = exp(-mean);
    unsigned n = 0;
    for (double product = uniform_double(); product > least; product *= uniform_double()) ++n;
    return n;
  }
};
#ifdef RAND_IS_HOST
using RAND(Generator_t) = RAND(State)*;
inline RAND(Status_t) RAND(CreateGenerator)(RAND(Generator_t)* g, RAND(RngType_t)) { *g = new RAND(State){}; return RAND_C(STATUS_SUCCESS); }
inline RAND(Status_t) RAND(CreateGeneratorHost)(RAND(Generator_t)* g, RAND(RngType_t) type) { return RAND(CreateGenerator)(g, type); }
inline RAND(Status_t) RAND(DestroyGenerator)(RAND(Generator_t) g) { delete g; return RAND_C(STATUS_SUCCESS); }
inline RAND(Status_t) RAND(SetPseudoRandomGeneratorSeed)(RAND(Generator_t) g, unsigned long long seed) { *g = {seed, 0}; return RAND_C(STATUS_SUCCESS); }
inline RAND(Status_t) RAND(SetGeneratorOffset)(RAND(Generator_t) g, unsigned long long at) { g->count = at; return RAND_C(STATUS_SUCCESS); }
template <typename Stream> RAND(Status_t) RAND(SetStream)(RAND(Generator_t), Stream) { return RAND_C(STATUS_SUCCESS); }
#define RAND_FILL(name, T, arguments, value)                                             \
  inline RAND(Status_t) RAND(name)(RAND(Generator_t) g, T* to, std::size_t n arguments) { \
    for (std::size_t i = 0; i < n; ++i) to[i] = value;                                   \
    return RAND_C(STATUS_SUCCESS);                                                       \
  }
#define RAND_COMMA ,
RAND_FILL(Generate, unsigned, , g->next())
RAND_FILL(GenerateUniform, float, , g->uniform())
RAND_FILL(GenerateUniformDouble, double, , g->uniform_double())
RAND_FILL(GenerateNormal, float, RAND_COMMA float mean RAND_COMMA float deviation, mean + deviation * g->normal())
RAND_FILL(GenerateNormalDouble, double, RAND_COMMA double mean RAND_COMMA double deviation, mean + deviation * g->normal_double())
RAND_FILL(GenerateLogNormal, float, RAND_COMMA float mean RAND_COMMA float deviation, expf(mean + deviation * g->normal()))
RAND_FILL(GenerateLogNormalDouble, double, RAND_COMMA double mean RAND_COMMA double deviation, exp(mean + deviation * g->normal_double()))
RAND_FILL(GeneratePoisson, unsigned, RAND_COMMA double mean, g->poisson(mean))
RAND_FILL(GenerateLongLong, unsigned long long, , static_cast<unsigned long long>(g->next()) << 32 | g->next())
#undef RAND_FILL
#undef RAND_COMMA
#endif
using RAND(State_t) = RAND(State);
using RAND(StateXORWOW_t) = RAND(State);
using RAND(StateXORWOW) = RAND(State);
using RAND(StatePhilox4_32_10_t) = RAND(State);
using RAND(StateMRG32k3a_t) = RAND(State);
using RAND(StateMRG32k3a) = RAND(State);
__device__ inline void RAND(_init)(unsigned long long seed, unsigned long long sequence, unsigned long long offset, RAND(State)* s) {
  RAND(State) mix{seed, sequence};
  const unsigned long long high = mix.next();
  *s = {high << 32 | mix.next(), offset};
}
__device__ inline unsigned RAND()(RAND(State)* s) { return s->next(); }
__device__ inline float RAND(_uniform)(RAND(State)* s) { return s->uniform(); }
__device__ inline double RAND(_uniform_double)(RAND(State)* s) { return s->uniform_double(); }
__device__ inline float RAND(_normal)(RAND(State)* s) { return s->normal(); }
__device__ inline double RAND(_normal_double)(RAND(State)* s) { return s->normal_double(); }
__device__ inline float2 RAND(_normal2)(RAND(State)* s) { return make_float2(s->normal(), s->normal()); }
__device__ inline float4 RAND(_uniform4)(RAND(State)* s) { return make_float4(s->uniform(), s->uniform(), s->uniform(), s->uniform()); }
__device__ inline float4 RAND(_normal4)(RAND(State)* s) { return make_float4(s->normal(), s->normal(), s->normal(), s->normal()); }
__device__ inline double2 RAND(_uniform2_double)(RAND(State)* s) { return make_double2(s->uniform_double(), s->uniform_double()); }
__device__ inline double2 RAND(_normal2_double)(RAND(State)* s) { return make_double2(s->normal_double(), s->normal_double()); }
__device__ inline uint4 RAND(4)(RAND(State)* s) { return make_uint4(s->next(), s->next(), s->next(), s->next()); }
__device__ inline float RAND(_log_normal)(RAND(State)* s, float mean, float deviation) { return expf(mean + deviation * s->normal()); }
__device__ inline double RAND(_log_normal_double)(RAND(State)* s, double mean, double deviation) { return exp(mean + deviation * s->normal_double()); }
__device__ inline unsigned RAND(_poisson)(RAND(State)* s, double mean) { return s->poisson(mean); }
