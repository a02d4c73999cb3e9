// Types of the Metal Shading Language: traits, scalars, vectors with swizzles, packed vectors,
// matrices. Nothing of C++'s library is read, so that a kernel may define any of its names.
// Source: Metal Shading Language Specification 4, section 2.
#pragma once

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using size_t = unsigned long;
using ptrdiff_t = long;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;
using half = _Float16;
using bfloat = __bf16;

template <typename To, typename From>
To as_type(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  To to;
  __builtin_memcpy(static_cast<void*>(&to), &from, sizeof to);
  return to;
}

constexpr half operator"" h(long double value) { return static_cast<half>(value); }
constexpr half operator"" H(long double value) { return static_cast<half>(value); }
constexpr half operator"" h(unsigned long long value) { return static_cast<half>(value); }
constexpr bfloat operator"" bf(long double value) { return static_cast<bfloat>(value); }

namespace metal {

using ::as_type;
using ::bfloat, ::half, ::uchar, ::ushort, ::uint, ::ulong, ::size_t, ::ptrdiff_t;
using ::int8_t, ::int16_t, ::int32_t, ::int64_t, ::uint8_t, ::uint16_t, ::uint32_t, ::uint64_t;

// ---- traits

template <typename T, T V> struct integral_constant {
  static constexpr T value = V;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool V> using bool_constant = integral_constant<bool, V>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

#define MSL_TRAIT(name, ...)                                        \
  template <typename T> struct name : bool_constant<__VA_ARGS__> {}; \
  template <typename T> constexpr bool name##_v = __VA_ARGS__;
#define MSL_PAIR_TRAIT(name, ...)                                               \
  template <typename T, typename U> struct name : bool_constant<__VA_ARGS__> {}; \
  template <typename T, typename U> constexpr bool name##_v = __VA_ARGS__;
#define MSL_CHANGE(name, ...)                                     \
  template <typename T> struct name { using type = __VA_ARGS__; }; \
  template <typename T> using name##_t = __VA_ARGS__;
MSL_CHANGE(remove_reference, __remove_reference_t(T))
MSL_CHANGE(remove_cv, __remove_cv(T))
MSL_CHANGE(remove_const, __remove_const(T))
MSL_CHANGE(remove_volatile, __remove_volatile(T))
MSL_CHANGE(remove_pointer, __remove_pointer(T))
MSL_CHANGE(remove_extent, __remove_extent(T))
MSL_CHANGE(decay, __decay(T))
MSL_CHANGE(make_signed, __make_signed(T))
MSL_CHANGE(make_unsigned, __make_unsigned(T))
MSL_CHANGE(add_const, const T)
MSL_CHANGE(add_pointer, __add_pointer(T))
MSL_CHANGE(add_lvalue_reference, __add_lvalue_reference(T))
MSL_CHANGE(add_rvalue_reference, __add_rvalue_reference(T))
MSL_CHANGE(underlying_type, __underlying_type(T))
MSL_PAIR_TRAIT(is_same, __is_same(T, U))
MSL_PAIR_TRAIT(is_convertible, __is_convertible(T, U))
MSL_PAIR_TRAIT(is_base_of, __is_base_of(T, U))
MSL_TRAIT(is_integral, __is_integral(T))
MSL_TRAIT(is_floating_point, __is_floating_point(T) || __is_same(__remove_cv(T), half) ||
                                 __is_same(__remove_cv(T), bfloat))
MSL_TRAIT(is_arithmetic, is_integral<T>::value || is_floating_point<T>::value)
MSL_TRAIT(is_scalar, is_arithmetic<T>::value || __is_pointer(T) || __is_enum(T))
MSL_TRAIT(is_unsigned, is_integral<T>::value && (T(-1) > T(0)))
MSL_TRAIT(is_signed, is_arithmetic<T>::value && (T(-1) < T(0)))
MSL_TRAIT(is_pointer, __is_pointer(T))
MSL_TRAIT(is_array, __is_array(T))
MSL_TRAIT(is_const, __is_const(T))
MSL_TRAIT(is_reference, __is_reference(T))
MSL_TRAIT(is_void, __is_void(T))
MSL_TRAIT(is_enum, __is_enum(T))
MSL_TRAIT(is_class, __is_class(T))
MSL_TRAIT(is_union, __is_union(T))
MSL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
#undef MSL_TRAIT
#undef MSL_PAIR_TRAIT
#undef MSL_CHANGE

template <typename T, typename... A> constexpr bool is_constructible_v = __is_constructible(T, A...);
template <typename T, typename... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { using type = T; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, typename T, typename F> struct conditional { using type = T; };
template <typename T, typename F> struct conditional<false, T, F> { using type = F; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;
template <typename T> struct type_identity { using type = T; };
template <typename T> using type_identity_t = typename type_identity<T>::type;
template <typename T> add_rvalue_reference_t<T> declval() noexcept;
template <typename T> struct remove_addrspace { using type = T; };  // they are erased
template <typename T> using remove_addrspace_t = T;
template <typename... B> constexpr bool conjunction_v = (bool(B::value) && ...);
template <typename... B> constexpr bool disjunction_v = (bool(B::value) || ...);
template <typename B> constexpr bool negation_v = !bool(B::value);
template <typename... B> struct conjunction : bool_constant<conjunction_v<B...>> {};
template <typename... B> struct disjunction : bool_constant<disjunction_v<B...>> {};
template <typename... B> using _conjunction = conjunction<B...>;
template <typename... B> using _disjunction = disjunction<B...>;
template <typename B> struct negation : bool_constant<!bool(B::value)> {};
template <typename F, typename... A> using invoke_result_t = decltype(declval<F>()(declval<A>()...));
template <typename F> struct result_of;
template <typename F, typename... A> struct result_of<F(A...)> {
  using type = invoke_result_t<F, A...>;
};
template <typename F> using result_of_t = typename result_of<F>::type;
template <typename T> constexpr void swap(T& a, T& b) {
  T kept = a;
  a = b;
  b = kept;
}

template <typename T, unsigned long N> struct array {
  T elements[N];
  constexpr T& operator[](unsigned long i) { return elements[i]; }
  constexpr const T& operator[](unsigned long i) const { return elements[i]; }
  constexpr unsigned long size() const { return N; }
  constexpr T* data() { return elements; }
  constexpr const T* data() const { return elements; }
  constexpr T* begin() { return elements; }
  constexpr T* end() { return elements + N; }
  constexpr const T* begin() const { return elements; }
  constexpr const T* end() const { return elements + N; }
};
template <typename A, typename B> struct pair {
  A first;
  B second;
};

// ---- vectors

template <typename T, int N> struct vec;

// A swizzle is a property: reading and writing it call functions.
#define MSL_SWIZZLE(n, name, ...)                                                         \
  vec<T, n> get_##name() const { return vec<T, n>(__VA_ARGS__); }                         \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, n> name;
#define MSL_SWIZZLE2(a, b)                              \
  void put_##a##b(vec<T, 2> v) { a = v.x, b = v.y; }    \
  MSL_SWIZZLE(2, a##b, a, b)
#define MSL_SWIZZLE3(a, b, c)                                       \
  void put_##a##b##c(vec<T, 3> v) { a = v.x, b = v.y, c = v.z; }    \
  MSL_SWIZZLE(3, a##b##c, a, b, c)
#define MSL_SWIZZLE4(a, b, c, d)                                                \
  void put_##a##b##c##d(vec<T, 4> v) { a = v.x, b = v.y, c = v.z, d = v.w; }    \
  MSL_SWIZZLE(4, a##b##c##d, a, b, c, d)
#define MSL_COLOUR(name, place) __declspec(property(get = get_##name, put = put_##name)) T name; \
  T get_##name() const { return place; }                                                         \
  void put_##name(T v) { place = v; }
#define MSL_XY(f) f(x) f(y)
#define MSL_XYZ(f) f(x) f(y) f(z)
#define MSL_XYZW(f) f(x) f(y) f(z) f(w)
// Every choice of two to four of two, three or four components.
#define MSL_2A(a) MSL_SWIZZLE2(a, x) MSL_SWIZZLE2(a, y)
#define MSL_3AB(a, b) MSL_SWIZZLE3(a, b, x) MSL_SWIZZLE3(a, b, y)
#define MSL_3A(a) MSL_3AB(a, x) MSL_3AB(a, y)
#define MSL_4ABC(a, b, c) MSL_SWIZZLE4(a, b, c, x) MSL_SWIZZLE4(a, b, c, y)
#define MSL_4AB(a, b) MSL_4ABC(a, b, x) MSL_4ABC(a, b, y)
#define MSL_4A(a) MSL_4AB(a, x) MSL_4AB(a, y)
#define MSL_SWIZZLES_2 MSL_XY(MSL_2A) MSL_XY(MSL_3A) MSL_XY(MSL_4A)
#define MSL_2A_3(a) MSL_2A(a) MSL_SWIZZLE2(a, z)
#define MSL_3AB_3(a, b) MSL_3AB(a, b) MSL_SWIZZLE3(a, b, z)
#define MSL_3A_3(a) MSL_3AB_3(a, x) MSL_3AB_3(a, y) MSL_3AB_3(a, z)
#define MSL_4ABC_3(a, b, c) MSL_4ABC(a, b, c) MSL_SWIZZLE4(a, b, c, z)
#define MSL_4AB_3(a, b) MSL_4ABC_3(a, b, x) MSL_4ABC_3(a, b, y) MSL_4ABC_3(a, b, z)
#define MSL_4A_3(a) MSL_4AB_3(a, x) MSL_4AB_3(a, y) MSL_4AB_3(a, z)
#define MSL_SWIZZLES_3 MSL_XYZ(MSL_2A_3) MSL_XYZ(MSL_3A_3) MSL_XYZ(MSL_4A_3)
#define MSL_2A_4(a) MSL_2A_3(a) MSL_SWIZZLE2(a, w)
#define MSL_3AB_4(a, b) MSL_3AB_3(a, b) MSL_SWIZZLE3(a, b, w)
#define MSL_3A_4(a) MSL_3AB_4(a, x) MSL_3AB_4(a, y) MSL_3AB_4(a, z) MSL_3AB_4(a, w)
#define MSL_4ABC_4(a, b, c) MSL_4ABC_3(a, b, c) MSL_SWIZZLE4(a, b, c, w)
#define MSL_4AB_4(a, b) MSL_4ABC_4(a, b, x) MSL_4ABC_4(a, b, y) MSL_4ABC_4(a, b, z) MSL_4ABC_4(a, b, w)
#define MSL_4A_4(a) MSL_4AB_4(a, x) MSL_4AB_4(a, y) MSL_4AB_4(a, z) MSL_4AB_4(a, w)
#define MSL_SWIZZLES_4 MSL_XYZW(MSL_2A_4) MSL_XYZW(MSL_3A_4) MSL_XYZW(MSL_4A_4)

template <typename T> constexpr int width_of = is_arithmetic_v<T> ? 1 : 0;
template <typename T, int N> constexpr int width_of<vec<T, N>> = N;

#define MSL_OPERATOR(op)                                                            \
  friend vec operator op(vec a, vec b) {                                            \
    for (int i = 0; i < SIZE; ++i) a[i] = static_cast<T>(a[i] op b[i]);             \
    return a;                                                                       \
  }                                                                                 \
  friend vec& operator op##=(vec& a, vec b) { return a = a op b; }
#define MSL_COMPARISON(op)                                                          \
  friend vec<bool, SIZE> operator op(vec a, vec b) {                                \
    vec<bool, SIZE> r;                                                              \
    for (int i = 0; i < SIZE; ++i) r[i] = a[i] op b[i];                             \
    return r;                                                                       \
  }
#define MSL_VECTOR(n, ...)                                                          \
  static constexpr int SIZE = n;                                                    \
  vec() = default;                                                                  \
  constexpr vec(T s) : __VA_ARGS__ { for (int i = 0; i < n; ++i) put(i, s); }       \
  template <typename S> constexpr explicit vec(const vec<S, n>& o) : __VA_ARGS__ {  \
    int at = 0;                                                                     \
    put_at(at, o);                                                                  \
  }                                                                                 \
  template <typename A, typename... B,                                              \
            typename = enable_if_t<(sizeof...(B) > 0) &&                            \
                                   (width_of<A> + ... + width_of<B>) == n>>         \
  constexpr vec(A first, B... others) : __VA_ARGS__ {                               \
    int at = 0;                                                                     \
    put_at(at, first);                                                              \
    (put_at(at, others), ...);                                                      \
  }                                                                                 \
  T& operator[](int i) { return (&x)[i]; }                                          \
  const T& operator[](int i) const { return (&x)[i]; }                              \
  MSL_OPERATOR(+) MSL_OPERATOR(-) MSL_OPERATOR(*) MSL_OPERATOR(/) MSL_OPERATOR(%)   \
  MSL_OPERATOR(&) MSL_OPERATOR(|) MSL_OPERATOR(^) MSL_OPERATOR(<<) MSL_OPERATOR(>>) \
  MSL_COMPARISON(==) MSL_COMPARISON(!=) MSL_COMPARISON(<) MSL_COMPARISON(>)         \
  MSL_COMPARISON(<=) MSL_COMPARISON(>=) MSL_COMPARISON(&&) MSL_COMPARISON(||)       \
  friend vec operator-(vec a) {                                                     \
    for (int i = 0; i < n; ++i) a[i] = static_cast<T>(-a[i]);                       \
    return a;                                                                       \
  }                                                                                 \
  friend vec operator+(vec a) { return a; }                                         \
  friend vec operator~(vec a) {                                                     \
    for (int i = 0; i < n; ++i) a[i] = static_cast<T>(~a[i]);                       \
    return a;                                                                       \
  }                                                                                 \
  friend vec<bool, n> operator!(vec a) {                                            \
    vec<bool, n> r;                                                                 \
    for (int i = 0; i < n; ++i) r[i] = !a[i];                                       \
    return r;                                                                       \
  }                                                                                 \
 private:                                                                           \
  template <typename A> constexpr void put_at(int& at, A value) {                   \
    if constexpr (is_arithmetic_v<A>) put(at++, static_cast<T>(value));             \
    else for (int i = 0; i < A::SIZE; ++i) put(at++, static_cast<T>(value.get(i))); \
  }                                                                                 \
                                                                                    \
 public:

template <typename T> struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  constexpr T get(int i) const { return i == 0 ? x : y; }
  constexpr void put(int i, T v) { (i == 0 ? x : y) = v; }
  MSL_COLOUR(r, x) MSL_COLOUR(g, y)
  MSL_SWIZZLES_2
  MSL_VECTOR(2, x(), y())
};
template <typename T> struct alignas(4 * sizeof(T)) vec<T, 3> {
  T x, y, z;
  constexpr T get(int i) const { return i == 0 ? x : i == 1 ? y : z; }
  constexpr void put(int i, T v) { (i == 0 ? x : i == 1 ? y : z) = v; }
  MSL_COLOUR(r, x) MSL_COLOUR(g, y) MSL_COLOUR(b, z)
  MSL_SWIZZLES_3
  MSL_VECTOR(3, x(), y(), z())
};
template <typename T> struct alignas(4 * sizeof(T)) vec<T, 4> {
  T x, y, z, w;
  constexpr T get(int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
  constexpr void put(int i, T v) { (i == 0 ? x : i == 1 ? y : i == 2 ? z : w) = v; }
  MSL_COLOUR(r, x) MSL_COLOUR(g, y) MSL_COLOUR(b, z) MSL_COLOUR(a, w)
  void put_rgb(vec<T, 3> v) { x = v.x, y = v.y, z = v.z; }
  MSL_SWIZZLE(3, rgb, x, y, z)
  MSL_SWIZZLES_4
  MSL_VECTOR(4, x(), y(), z(), w())
};

template <typename T, int N> struct packed_vec {
  T elements[N];
  packed_vec() = default;
  packed_vec(T s) : packed_vec(vec<T, N>(s)) {}
  packed_vec(vec<T, N> v) { for (int i = 0; i < N; ++i) elements[i] = v[i]; }
  template <typename A, typename B, typename... C>
  packed_vec(A a, B b, C... c) : packed_vec(vec<T, N>(a, b, c...)) {}
  operator vec<T, N>() const {
    vec<T, N> v;
    for (int i = 0; i < N; ++i) v[i] = elements[i];
    return v;
  }
  T& operator[](int i) { return elements[i]; }
  const T& operator[](int i) const { return elements[i]; }
  T get_x() const { return elements[0]; }
  void put_x(T v) { elements[0] = v; }
  __declspec(property(get = get_x, put = put_x)) T x;
  T get_y() const { return elements[1]; }
  void put_y(T v) { elements[1] = v; }
  __declspec(property(get = get_y, put = put_y)) T y;
  T get_z() const { return elements[2]; }
  void put_z(T v) { elements[2] = v; }
  __declspec(property(get = get_z, put = put_z)) T z;
  T get_w() const { return elements[3]; }
  void put_w(T v) { elements[3] = v; }
  __declspec(property(get = get_w, put = put_w)) T w;
};

#define MSL_NAMES(type, name)                                                             \
  using name##2 = vec<type, 2>; using name##3 = vec<type, 3>; using name##4 = vec<type, 4>; \
  using packed_##name##2 = packed_vec<type, 2>;                                           \
  using packed_##name##3 = packed_vec<type, 3>;                                           \
  using packed_##name##4 = packed_vec<type, 4>;
#define MSL_ALL_NAMES                                                                     \
  MSL_NAMES(bool, bool) MSL_NAMES(char, char) MSL_NAMES(uchar, uchar)                     \
  MSL_NAMES(short, short) MSL_NAMES(ushort, ushort) MSL_NAMES(int, int)                   \
  MSL_NAMES(uint, uint) MSL_NAMES(long, long) MSL_NAMES(ulong, ulong)                     \
  MSL_NAMES(half, half) MSL_NAMES(bfloat, bfloat) MSL_NAMES(float, float)
MSL_ALL_NAMES

// ---- matrices: columns of vectors

template <typename T, int C, int R> struct matrix {
  vec<T, R> columns[C];
  matrix() = default;
  explicit matrix(T s) {
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = c == r ? s : T(0);
  }
  template <typename... A, typename = enable_if_t<sizeof...(A) == C>>
  matrix(A... a) : columns{vec<T, R>(a)...} {}
  vec<T, R>& operator[](int c) { return columns[c]; }
  const vec<T, R>& operator[](int c) const { return columns[c]; }
  friend matrix operator+(matrix a, const matrix& b) {
    for (int c = 0; c < C; ++c) a[c] += b[c];
    return a;
  }
  friend matrix operator-(matrix a, const matrix& b) {
    for (int c = 0; c < C; ++c) a[c] -= b[c];
    return a;
  }
  friend matrix operator*(matrix a, T s) {
    for (int c = 0; c < C; ++c) a[c] *= s;
    return a;
  }
  friend matrix operator*(T s, matrix a) { return a * s; }
  friend vec<T, R> operator*(const matrix& a, vec<T, C> v) {
    vec<T, R> sum(T(0));
    for (int c = 0; c < C; ++c) sum += a[c] * v[c];
    return sum;
  }
  template <int K> friend matrix<T, K, R> operator*(const matrix& a, const matrix<T, K, C>& b) {
    matrix<T, K, R> product;
    for (int k = 0; k < K; ++k) product[k] = a * b[k];
    return product;
  }
};
#define MSL_MATRICES(type)                                                                       \
  using type##2x2 = matrix<type, 2, 2>; using type##2x3 = matrix<type, 2, 3>;                    \
  using type##2x4 = matrix<type, 2, 4>; using type##3x2 = matrix<type, 3, 2>;                    \
  using type##3x3 = matrix<type, 3, 3>; using type##3x4 = matrix<type, 3, 4>;                    \
  using type##4x2 = matrix<type, 4, 2>; using type##4x3 = matrix<type, 4, 3>;                    \
  using type##4x4 = matrix<type, 4, 4>;
MSL_MATRICES(float)
MSL_MATRICES(half)
template <typename T, int C, int R> matrix<T, R, C> transpose(const matrix<T, C, R>& a) {
  matrix<T, R, C> t;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) t[r][c] = a[c][r];
  return t;
}

// ---- limits

template <typename T> struct numeric_limits {
  static constexpr bool is_signed = is_signed_v<T>, is_integer = true;
  static constexpr int digits = 8 * sizeof(T) - is_signed;
  static constexpr T max() { return T(~0ull >> (64 - digits)); }
  static constexpr T min() { return T(~max()); }
  static constexpr T lowest() { return min(); }
};
template <> struct numeric_limits<bool> {
  static constexpr bool is_signed = false, is_integer = true;
  static constexpr int digits = 1;
  static constexpr bool max() { return true; }
  static constexpr bool min() { return false; }
  static constexpr bool lowest() { return false; }
};
#define MSL_LIMITS(type, most, least, gap, bits)                              \
  template <> struct numeric_limits<type> {                                   \
    static constexpr bool is_signed = true, is_integer = false;               \
    static constexpr int digits = bits;                                       \
    static constexpr type max() { return type(most); }                        \
    static constexpr type min() { return type(least); }                       \
    static constexpr type lowest() { return type(-most); }                    \
    static constexpr type epsilon() { return type(gap); }                     \
    static constexpr type infinity() { return type(__builtin_inff()); }       \
    static constexpr type quiet_NaN() { return type(__builtin_nanf("")); }    \
  };
MSL_LIMITS(float, 3.40282346638528859812e+38f, 1.17549435082228750797e-38f, 1.1920928955078125e-07f, 24)
MSL_LIMITS(half, 65504.0f, 6.103515625e-05f, 0.0009765625f, 11)
MSL_LIMITS(bfloat, 3.38953138925153547590e+38f, 1.17549435082228750797e-38f, 0.0078125f, 8)

struct os_log {  // what it is told goes nowhere
  constexpr os_log(const char*, const char*) {}
  template <typename... A> void log(A...) const {}
  template <typename... A> void log_debug(A...) const {}
  template <typename... A> void log_info(A...) const {}
  template <typename... A> void log_error(A...) const {}
  template <typename... A> void log_fault(A...) const {}
};

template <typename T> using uniform = T;
template <typename T> T make_uniform(T value) { return value; }

}  // namespace metal

using metal::bool2, metal::bool3, metal::bool4;
using metal::char2, metal::char3, metal::char4;
using metal::uchar2, metal::uchar3, metal::uchar4;
using metal::short2, metal::short3, metal::short4;
using metal::ushort2, metal::ushort3, metal::ushort4;
using metal::int2, metal::int3, metal::int4;
using metal::uint2, metal::uint3, metal::uint4;
using metal::long2, metal::long3, metal::long4;
using metal::ulong2, metal::ulong3, metal::ulong4;
using metal::half2, metal::half3, metal::half4;
using metal::bfloat2, metal::bfloat3, metal::bfloat4;
using metal::float2, metal::float3, metal::float4;
