// The same algorithms without a policy: where they run is seen from their iterators.
#pragma once
namespace thrust {

#define THRUST_BARE(name)                                                               \
  template <typename I, typename... A> THRUST_HD auto name(I first, I last, A... rest) { \
    return thrust::name(policy_of<I, A...>{}, first, last, rest...);                     \
  }
THRUST_BARE(for_each) THRUST_BARE(tabulate) THRUST_BARE(generate) THRUST_BARE(fill)
THRUST_BARE(sequence) THRUST_BARE(copy) THRUST_BARE(transform) THRUST_BARE(transform_if)
THRUST_BARE(scatter) THRUST_BARE(gather) THRUST_BARE(replace) THRUST_BARE(replace_if)
THRUST_BARE(transform_reduce) THRUST_BARE(reduce) THRUST_BARE(inner_product) THRUST_BARE(count)
THRUST_BARE(count_if) THRUST_BARE(find) THRUST_BARE(find_if) THRUST_BARE(any_of)
THRUST_BARE(none_of) THRUST_BARE(all_of) THRUST_BARE(equal) THRUST_BARE(min_element)
THRUST_BARE(max_element) THRUST_BARE(minmax_element) THRUST_BARE(transform_inclusive_scan)
THRUST_BARE(transform_exclusive_scan) THRUST_BARE(inclusive_scan) THRUST_BARE(exclusive_scan)
THRUST_BARE(adjacent_difference) THRUST_BARE(stable_sort_by_key) THRUST_BARE(sort_by_key)
THRUST_BARE(stable_sort) THRUST_BARE(sort) THRUST_BARE(is_sorted) THRUST_BARE(reverse)
THRUST_BARE(shuffle) THRUST_BARE(copy_if) THRUST_BARE(remove_copy_if) THRUST_BARE(remove_if)
THRUST_BARE(remove) THRUST_BARE(stable_partition) THRUST_BARE(partition)
THRUST_BARE(unique_by_key_copy) THRUST_BARE(unique_by_key) THRUST_BARE(unique_copy)
THRUST_BARE(unique) THRUST_BARE(reduce_by_key) THRUST_BARE(inclusive_scan_by_key)
THRUST_BARE(exclusive_scan_by_key) THRUST_BARE(lower_bound) THRUST_BARE(upper_bound)
THRUST_BARE(binary_search)
#undef THRUST_BARE
#undef THRUST_PERFORM

template <place P, typename I, typename N, typename T> THRUST_HD I fill_n(policy<P> p, I first, N n, T value) { thrust::fill(p, first, first + n, value); return first + n; }
template <typename I, typename N, typename T> THRUST_HD I fill_n(I first, N n, T value) { return thrust::fill_n(policy_of<I>{}, first, n, value); }
template <place P, typename I, typename N, typename O> THRUST_HD O copy_n(policy<P> p, I first, N n, O to) { return thrust::copy(p, first, first + n, to); }
template <typename I, typename N, typename O> THRUST_HD O copy_n(I first, N n, O to) { return thrust::copy_n(policy_of<I, O>{}, first, n, to); }
template <place P, typename I, typename N, typename F> THRUST_HD I for_each_n(policy<P> p, I first, N n, F f) { return thrust::for_each(p, first, first + n, f); }
template <typename I, typename N, typename F> THRUST_HD I for_each_n(I first, N n, F f) { return thrust::for_each_n(policy_of<I>{}, first, n, f); }

}  // namespace thrust
