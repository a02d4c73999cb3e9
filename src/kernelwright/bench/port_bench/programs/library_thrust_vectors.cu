// domain: libraries
// hazards: none
// expect: sum 333283335000 runs 7 best 9 mean 4.500 words 4 last 1 total 4950 median 3
// Thrust: transforms, sorts with keys, runs, scans and fancy iterators over device vectors.
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <cstdio>

struct Square {
  __host__ __device__ long long operator()(long long v) const { return v * v; }
};
struct Starts {  // a word starts where a letter follows a space
  __device__ int operator()(char left, char right) const { return left == ' ' && right != ' '; }
};
struct Mean {
  __host__ __device__ float operator()(const thrust::tuple<int, float>& both) const {
    return thrust::get<0>(both) * thrust::get<1>(both);
  }
};

struct Odd {
  __device__ bool operator()(int v) const { return v % 2 == 1; }
};

int main() {
  thrust::device_vector<long long> squares(10000);
  thrust::sequence(squares.begin(), squares.end());
  thrust::transform(squares.begin(), squares.end(), squares.begin(), Square());
  const long long sum = thrust::reduce(squares.begin(), squares.end(), 0LL, thrust::plus<long long>());

  thrust::host_vector<int> digits(100);
  for (int i = 0; i < 100; ++i) digits[i] = i * 37 % 7;
  thrust::device_vector<int> keys = digits, values(100), out_keys(100), out_values(100);
  thrust::sequence(values.begin(), values.end());
  thrust::stable_sort_by_key(thrust::device, keys.begin(), keys.end(), values.begin());
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), values.begin(), out_keys.begin(), out_values.begin());
  const int runs = ends.first - out_keys.begin();
  const int total = thrust::reduce(out_values.begin(), ends.second);

  thrust::device_vector<int> ten(10);
  thrust::device_vector<float> weights(10, 0.1f);
  thrust::sequence(ten.begin(), ten.end());
  const int best = *thrust::max_element(ten.begin(), ten.end());
  auto both = thrust::make_zip_iterator(thrust::make_tuple(ten.begin(), weights.begin()));
  const float mean = thrust::transform_reduce(both, both + 10, Mean(), 0.0f, thrust::plus<float>());

  const char text[] = " one two  three four";
  thrust::device_vector<char> letters(text, text + sizeof text - 1);
  const int words = thrust::inner_product(letters.begin(), letters.end() - 1, letters.begin() + 1, 0, thrust::plus<int>(), Starts());

  int* raw;
  cudaMalloc(&raw, 10 * sizeof(int));
  thrust::device_ptr<int> scanned(raw);
  thrust::exclusive_scan(ten.begin(), ten.end(), scanned);
  thrust::copy_if(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(10), raw, Odd());
  int last = 0;
  cudaMemcpy(&last, raw, sizeof last, cudaMemcpyDeviceToHost);
  printf("sum %lld runs %d best %d mean %.3f words %d last %d total %d median %d\n", sum, runs, best, mean, words, last, total, (int)keys[50]);
  cudaFree(raw);
}
