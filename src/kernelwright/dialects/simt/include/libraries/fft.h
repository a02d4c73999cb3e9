// Fourier transforms under the names of cuFFT and hipFFT, which FFT(x) and FFT_C(x) give: of every
// size, of one to three dimensions, in double precision throughout, without the speed of theirs.
// FFT_COMPLEX and FFT_DOUBLE_COMPLEX are the library's pairs, FFT_STREAM its streams.
// Not covered: several GPUs, callbacks, half precision.
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>
enum FFT(Result_t) {
  FFT_C(SUCCESS), FFT_C(INVALID_PLAN), FFT_C(ALLOC_FAILED), FFT_C(INVALID_TYPE), FFT_C(INVALID_VALUE),
  FFT_C(INTERNAL_ERROR), FFT_C(EXEC_FAILED), FFT_C(SETUP_FAILED), FFT_C(INVALID_SIZE), FFT_C(UNALIGNED_DATA),
  FFT_C(INCOMPLETE_PARAMETER_LIST), FFT_C(INVALID_DEVICE), FFT_C(PARSE_ERROR), FFT_C(NO_WORKSPACE),
  FFT_C(NOT_IMPLEMENTED), FFT_C(NOT_SUPPORTED) = 16,
};
using FFT(Result) = FFT(Result_t);
enum FFT(Type_t) { FFT_C(R2C) = 0x2a, FFT_C(C2R) = 0x2c, FFT_C(C2C) = 0x29, FFT_C(D2Z) = 0x6a, FFT_C(Z2D) = 0x6c, FFT_C(Z2Z) = 0x69 };
using FFT(Type) = FFT(Type_t);
using FFT(Complex) = FFT_COMPLEX;
using FFT(DoubleComplex) = FFT_DOUBLE_COMPLEX;
using FFT(Real) = float;
using FFT(DoubleReal) = double;
struct FFT(Plan) {
  std::vector<long> n;
  long batch = 1;
  struct Layout {
    std::vector<long> embed;
    long stride = 1, distance = 0;
  };
  Layout in, out;
  bool is_plain = true;  // rows follow one another; real ones are padded where they are transformed in place
  FFT(Type) type = FFT_C(C2C);
};
using FFT(Handle) = FFT(Plan)*;

struct FFT(Loops) {
  using Number = std::complex<double>;
  // Transforms n numbers, each `stride` apart, by the smallest factor of n. Source: Cooley and Tukey, 1965.
  static std::vector<Number> line(const Number* from, long n, long stride, int sign) {
    long p = 2;
    while (p * p <= n && n % p) ++p;
    if (n % p) p = n;
    const long m = n / p;
    std::vector<Number> all(static_cast<std::size_t>(n));
    if (n <= 1) {
      if (n) all[0] = from[0];
      return all;
    }
    std::vector<std::vector<Number>> parts;
    for (long i = 0; i < p; ++i) parts.push_back(m > 1 ? line(from + i * stride, m, stride * p, sign) : std::vector<Number>{from[i * stride]});
    const double turn = sign * 2 * 3.14159265358979323846 / static_cast<double>(n);
    for (long k = 0; k < n; ++k)
      for (long i = 0; i < p; ++i)
        all[static_cast<std::size_t>(k)] += parts[static_cast<std::size_t>(i)][static_cast<std::size_t>(k % m)] * std::polar(1.0, turn * static_cast<double>(i * k % n));
    return all;
  }
  static void every_axis(std::vector<Number>& all, const std::vector<long>& n, int sign) {
    long inner = 1;
    for (std::size_t axis = n.size(); axis-- > 0; inner *= n[axis])
      for (long start = 0; start < static_cast<long>(all.size()); ++start) {
        if (start / inner % n[axis]) continue;
        const auto done = line(all.data() + start, n[axis], inner, sign);
        for (long i = 0; i < n[axis]; ++i) all[static_cast<std::size_t>(start + i * inner)] = done[static_cast<std::size_t>(i)];
      }
  }
  static long place(const typename FFT(Plan)::Layout& layout, const std::vector<long>& at) {
    long found = at[0];
    for (std::size_t i = 1; i < at.size(); ++i) found = found * layout.embed[i] + at[i];
    return found * layout.stride;
  }
  // Calls f(number within the whole, coordinates) for extents whose last may be cut to `last`.
  template <typename F> static void each(const std::vector<long>& n, long last, F f) {
    std::vector<long> at(n.size());
    long total = last;
    for (std::size_t i = 0; i + 1 < n.size(); ++i) total *= n[i];
    for (long count = 0; count < total; ++count) {
      long left = count, whole = 0;
      at.back() = left % last, left /= last;
      for (std::size_t i = n.size() - 1; i-- > 0; left /= n[i]) at[i] = left % n[i];
      for (std::size_t i = 0; i < n.size(); ++i) whole = whole * n[i] + at[i];
      f(static_cast<std::size_t>(whole), at);
    }
  }
  template <typename In, typename Out, typename Get, typename Put>
  static FFT(Result) run(FFT(Handle) p, In* in, Out* out, int sign, Get get, Put put) {
    const bool is_real_in = sizeof(In) < sizeof(Out), is_real_out = sizeof(Out) < sizeof(In);
    const long last = p->n.back(), half = last / 2 + 1;
    auto from = p->in, to = p->out;
    if (p->is_plain) {
      const bool is_in_place = static_cast<const void*>(in) == static_cast<const void*>(out);
      auto plain = [&](typename FFT(Plan)::Layout& layout, bool is_real, bool is_half) {
        layout = {p->n, 1, 1};
        layout.embed.back() = is_half ? half : is_real && is_in_place ? 2 * half : last;
        for (long extent : layout.embed) layout.distance *= extent;
      };
      plain(from, is_real_in, is_real_out), plain(to, is_real_out, is_real_in);
    }
    long total = 1;
    for (long extent : p->n) total *= extent;
    std::vector<std::vector<Number>> done;
    for (long b = 0; b < p->batch; ++b) {
      std::vector<Number> all(static_cast<std::size_t>(total));
      each(p->n, is_real_out ? half : last, [&](std::size_t whole, const std::vector<long>& at) {
        all[whole] = get(in[b * from.distance + place(from, at)]);
        if (!is_real_out || at.back() == 0 || 2 * at.back() == last) return;
        long mirrored = 0;  // the other half of a real signal's spectrum is its conjugate
        for (std::size_t i = 0; i < at.size(); ++i) mirrored = mirrored * p->n[i] + (p->n[i] - at[i]) % p->n[i];
        all[static_cast<std::size_t>(mirrored)] = std::conj(all[whole]);
      });
      every_axis(all, p->n, sign);
      done.push_back(std::move(all));
    }
    for (long b = 0; b < p->batch; ++b)
      each(p->n, is_real_in ? half : last, [&](std::size_t whole, const std::vector<long>& at) {
        out[b * to.distance + place(to, at)] = put(done[static_cast<std::size_t>(b)][whole]);
      });
    return FFT_C(SUCCESS);
  }
};

inline FFT(Result) FFT(Create)(FFT(Handle)* p) { *p = new FFT(Plan){}; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(MakePlanMany)(FFT(Handle) p, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, FFT(Type) type, int batch, std::size_t* bytes) {
  p->n.assign(n, n + rank), p->batch = batch, p->type = type, p->is_plain = !inembed || !onembed;
  if (!p->is_plain) {
    p->in = {{inembed, inembed + rank}, istride, idist};
    p->out = {{onembed, onembed + rank}, ostride, odist};
  }
  if (bytes) *bytes = 0;
  return FFT_C(SUCCESS);
}
inline FFT(Result) FFT(MakePlan1d)(FFT(Handle) p, int nx, FFT(Type) type, int batch, std::size_t* bytes) { return FFT(MakePlanMany)(p, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, bytes); }
inline FFT(Result) FFT(MakePlan2d)(FFT(Handle) p, int nx, int ny, FFT(Type) type, std::size_t* bytes) {
  int n[] = {nx, ny};
  return FFT(MakePlanMany)(p, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
inline FFT(Result) FFT(MakePlan3d)(FFT(Handle) p, int nx, int ny, int nz, FFT(Type) type, std::size_t* bytes) {
  int n[] = {nx, ny, nz};
  return FFT(MakePlanMany)(p, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
inline FFT(Result) FFT(Plan1d)(FFT(Handle)* p, int nx, FFT(Type) type, int batch) { FFT(Create)(p); return FFT(MakePlan1d)(*p, nx, type, batch, nullptr); }
inline FFT(Result) FFT(Plan2d)(FFT(Handle)* p, int nx, int ny, FFT(Type) type) { FFT(Create)(p); return FFT(MakePlan2d)(*p, nx, ny, type, nullptr); }
inline FFT(Result) FFT(Plan3d)(FFT(Handle)* p, int nx, int ny, int nz, FFT(Type) type) { FFT(Create)(p); return FFT(MakePlan3d)(*p, nx, ny, nz, type, nullptr); }
inline FFT(Result) FFT(PlanMany)(FFT(Handle)* p, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, FFT(Type) type, int batch) {
  FFT(Create)(p);
  return FFT(MakePlanMany)(*p, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
}
inline FFT(Result) FFT(Estimate1d)(int, FFT(Type), int, std::size_t* bytes) { *bytes = 0; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(Estimate2d)(int, int, FFT(Type), std::size_t* bytes) { *bytes = 0; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(Estimate3d)(int, int, int, FFT(Type), std::size_t* bytes) { *bytes = 0; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(EstimateMany)(int, int*, int*, int, int, int*, int, int, FFT(Type), int, std::size_t* bytes) { *bytes = 0; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(GetSize)(FFT(Handle), std::size_t* bytes) { *bytes = 0; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(GetVersion)(int* version) { *version = 11000; return FFT_C(SUCCESS); }
inline FFT(Result) FFT(SetStream)(FFT(Handle), FFT_STREAM) { return FFT_C(SUCCESS); }
inline FFT(Result) FFT(SetAutoAllocation)(FFT(Handle), int) { return FFT_C(SUCCESS); }
inline FFT(Result) FFT(SetWorkArea)(FFT(Handle), void*) { return FFT_C(SUCCESS); }
inline FFT(Result) FFT(Destroy)(FFT(Handle) p) { delete p; return FFT_C(SUCCESS); }
#define FFT_EXEC(C2C, R2C, C2R, Real, Pair)                                                                \
  inline FFT(Result) FFT(Exec##C2C)(FFT(Handle) p, Pair* in, Pair* out, int sign) {                        \
    using Number = FFT(Loops)::Number;                                                                     \
    return FFT(Loops)::run(p, in, out, sign, [](Pair z) { return Number(z.x, z.y); },                      \
                           [](Number z) { Pair pair; pair.x = static_cast<Real>(z.real()), pair.y = static_cast<Real>(z.imag()); return pair; }); \
  }                                                                                                        \
  inline FFT(Result) FFT(Exec##R2C)(FFT(Handle) p, Real* in, Pair* out) {                                  \
    using Number = FFT(Loops)::Number;                                                                     \
    return FFT(Loops)::run(p, in, out, -1, [](Real x) { return Number(x, 0); },                            \
                           [](Number z) { Pair pair; pair.x = static_cast<Real>(z.real()), pair.y = static_cast<Real>(z.imag()); return pair; }); \
  }                                                                                                        \
  inline FFT(Result) FFT(Exec##C2R)(FFT(Handle) p, Pair* in, Real* out) {                                  \
    using Number = FFT(Loops)::Number;                                                                     \
    return FFT(Loops)::run(p, in, out, 1, [](Pair z) { return Number(z.x, z.y); },                         \
                           [](Number z) { return static_cast<Real>(z.real()); });                          \
  }
FFT_EXEC(C2C, R2C, C2R, float, FFT_COMPLEX)
FFT_EXEC(Z2Z, D2Z, Z2D, double, FFT_DOUBLE_COMPLEX)
#undef FFT_EXEC
