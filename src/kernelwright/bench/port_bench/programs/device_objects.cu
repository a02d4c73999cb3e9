// domain: device
// hazards: none
// expect: sum 1510 right
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>


// Objects with virtual functions, made, used and destroyed on the device.
struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int area() const override { return 2 * length; }
};
__global__ void make(Shape** shapes, int n) {
  int i = threadIdx.x;
  if (i < n) shapes[i] = i % 2 ? static_cast<Shape*>(new Square(i)) : new Strip(i);
}
__global__ void measure(Shape** shapes, int* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = shapes[i]->area();
}
__global__ void destroy(Shape** shapes, int n) {
  if (threadIdx.x < n) delete shapes[threadIdx.x];
}

int main() {
  const int n = 20;
  Shape** shapes;
  int *d, got[n], sum = 0;
  cudaMalloc(&shapes, n * sizeof(Shape*)), cudaMalloc(&d, sizeof got);
  make<<<1, 32>>>(shapes, n);
  measure<<<1, 32>>>(shapes, d, n);
  destroy<<<1, 32>>>(shapes, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; ++i) right &= got[i] == (i % 2 ? i * i : 2 * i), sum += got[i];
  printf("sum %d %s\n", sum, right ? "right" : "WRONG");
}
