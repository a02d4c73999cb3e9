// Function objects, pairs and tuples of Thrust.
#pragma once
namespace thrust {

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
template <typename A, typename R> struct unary_function { using argument_type = A; using result_type = R; };
template <typename A, typename B, typename R> struct binary_function {
  using first_argument_type = A; using second_argument_type = B; using result_type = R;
};

#define THRUST_BINARY(name, expression)                                                           \
  template <typename T = void> struct name {                                                     \
    using first_argument_type = T; using second_argument_type = T;                                \
    THRUST_HD constexpr auto operator()(const T& a, const T& b) const { return expression; }      \
  };                                                                                             \
  template <> struct name<void> {                                                                \
    template <typename A, typename B>                                                            \
    THRUST_HD constexpr auto operator()(const A& a, const B& b) const { return expression; }      \
  };
THRUST_BINARY(plus, a + b)
THRUST_BINARY(minus, a - b)
THRUST_BINARY(multiplies, a * b)
THRUST_BINARY(divides, a / b)
THRUST_BINARY(modulus, a % b)
THRUST_BINARY(maximum, a < b ? b : a)
THRUST_BINARY(minimum, b < a ? b : a)
THRUST_BINARY(less, a < b)
THRUST_BINARY(greater, a > b)
THRUST_BINARY(less_equal, a <= b)
THRUST_BINARY(greater_equal, a >= b)
THRUST_BINARY(equal_to, a == b)
THRUST_BINARY(not_equal_to, a != b)
THRUST_BINARY(logical_and, a && b)
THRUST_BINARY(logical_or, a || b)
THRUST_BINARY(bit_and, a & b)
THRUST_BINARY(bit_or, a | b)
THRUST_BINARY(bit_xor, a ^ b)
#undef THRUST_BINARY
#define THRUST_UNARY(name, expression)                                                            \
  template <typename T = void> struct name {                                                     \
    using argument_type = T;                                                                     \
    THRUST_HD constexpr auto operator()(const T& a) const { return expression; }                  \
  };                                                                                             \
  template <> struct name<void> {                                                                \
    template <typename A> THRUST_HD constexpr auto operator()(const A& a) const { return expression; } \
  };
THRUST_UNARY(negate, -a)
THRUST_UNARY(square, a * a)
THRUST_UNARY(logical_not, !a)
THRUST_UNARY(identity, a)
#undef THRUST_UNARY
template <typename F> struct unary_negate {
  F f;
  template <typename A> THRUST_HD bool operator()(const A& a) const { return !f(a); }
};
template <typename F> THRUST_HD unary_negate<F> not1(F f) { return {f}; }

template <typename T> THRUST_HD constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <typename T> THRUST_HD constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <typename T> THRUST_HD void swap(T& a, T& b) { T was = a; a = b; b = was; }

}  // namespace thrust
