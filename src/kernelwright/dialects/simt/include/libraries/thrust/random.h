// Random numbers of Thrust: its engine, the numbers of its distributions may differ in last digits.
#pragma once
namespace thrust {

class minstd_rand {  // Source: Park, Miller and Stockmeyer 1993: x * 48271 modulo 2^31 - 1.
 public:
  using result_type = unsigned;
  static constexpr unsigned min = 1, max = 2147483646;
  THRUST_HD explicit minstd_rand(unsigned s = 1) { seed(s); }
  THRUST_HD void seed(unsigned s = 1) { x_ = s % 2147483647u ? s % 2147483647u : 1; }
  THRUST_HD unsigned operator()() { return x_ = static_cast<unsigned>(48271ull * x_ % 2147483647u); }
  THRUST_HD void discard(unsigned long long n) {
    unsigned long long factor = 48271;
    for (; n; n >>= 1, factor = factor * factor % 2147483647u)
      if (n & 1) x_ = static_cast<unsigned>(factor * x_ % 2147483647u);
  }

 private:
  unsigned x_;
};
using default_random_engine = minstd_rand;
template <typename T = double> struct uniform_real_distribution {
  T from, to;
  THRUST_HD explicit uniform_real_distribution(T a = 0, T b = 1) : from(a), to(b) {}
  template <typename G> THRUST_HD T operator()(G& g) const {
    return from + (to - from) * static_cast<T>(g() - G::min) / (static_cast<T>(G::max - G::min) + 1);
  }
};
template <typename T = int> struct uniform_int_distribution {
  T from, to;
  THRUST_HD explicit uniform_int_distribution(T a = 0, T b = std::numeric_limits<T>::max()) : from(a), to(b) {}
  template <typename G> THRUST_HD T operator()(G& g) const {
    return static_cast<T>(uniform_real_distribution<double>(from, static_cast<double>(to) + 1)(g));
  }
};
template <typename T = double> struct normal_distribution {
  T mean, deviation;
  THRUST_HD explicit normal_distribution(T m = 0, T d = 1) : mean(m), deviation(d) {}
  template <typename G> THRUST_HD T operator()(G& g) const {
    const uniform_real_distribution<double> one;
    const double radius = sqrt(-2.0 * log(1.0 - one(g)));
    return mean + deviation * static_cast<T>(radius * cos(6.283185307179586 * one(g)));
  }
};
namespace random {
using thrust::default_random_engine;
using thrust::minstd_rand;
using thrust::normal_distribution;
using thrust::uniform_int_distribution;
using thrust::uniform_real_distribution;
}  // namespace random

}  // namespace thrust
