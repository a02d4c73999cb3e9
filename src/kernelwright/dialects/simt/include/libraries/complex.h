// Complex numbers under the names of cuComplex.h and hip_complex.h: COMPLEX(x) gives a name,
// COMPLEX_MAKE(x) one with make_ before it.
#include <math.h>
using COMPLEX(FloatComplex) = float2;
using COMPLEX(DoubleComplex) = double2;
using COMPLEX(Complex) = float2;
#define COMPLEX_FUNCTION(type, name) __host__ __device__ inline type COMPLEX(name)
#define COMPLEX_TYPE(Real, Pair, pair, f, root)                                                      \
  COMPLEX_FUNCTION(Real, Creal##f)(Pair z) { return z.x; }                                           \
  COMPLEX_FUNCTION(Real, Cimag##f)(Pair z) { return z.y; }                                           \
  COMPLEX_FUNCTION(Real, Cabs##f)(Pair z) { return root(z.x * z.x + z.y * z.y); }                    \
  COMPLEX_FUNCTION(Pair, Conj##f)(Pair z) { return pair(z.x, -z.y); }                                \
  COMPLEX_FUNCTION(Pair, Cadd##f)(Pair a, Pair b) { return pair(a.x + b.x, a.y + b.y); }             \
  COMPLEX_FUNCTION(Pair, Csub##f)(Pair a, Pair b) { return pair(a.x - b.x, a.y - b.y); }             \
  COMPLEX_FUNCTION(Pair, Cmul##f)(Pair a, Pair b) { return pair(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
  COMPLEX_FUNCTION(Pair, Cdiv##f)(Pair a, Pair b) {                                                  \
    const Real square = b.x * b.x + b.y * b.y;                                                       \
    return pair((a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square);                 \
  }                                                                                                  \
  COMPLEX_FUNCTION(Pair, Cfma##f)(Pair a, Pair b, Pair c) {                                          \
    return pair(a.x * b.x - a.y * b.y + c.x, a.x * b.y + a.y * b.x + c.y);                           \
  }
COMPLEX_TYPE(float, float2, make_float2, f, sqrtf)
COMPLEX_TYPE(double, double2, make_double2, , sqrt)
__host__ __device__ inline float2 COMPLEX_MAKE(Complex)(float x, float y) { return make_float2(x, y); }
__host__ __device__ inline float2 COMPLEX_MAKE(FloatComplex)(float x, float y) { return make_float2(x, y); }
__host__ __device__ inline double2 COMPLEX_MAKE(DoubleComplex)(double x, double y) { return make_double2(x, y); }
COMPLEX_FUNCTION(float2, ComplexDoubleToFloat)(double2 z) { return make_float2(static_cast<float>(z.x), static_cast<float>(z.y)); }
COMPLEX_FUNCTION(double2, ComplexFloatToDouble)(float2 z) { return make_double2(z.x, z.y); }
#undef COMPLEX_TYPE
#undef COMPLEX_FUNCTION
