#include <cstdint>
#include <cstdio>
#include <cusparse.h>
// The matrix [2 0 1; 0 3 0; 4 0 5] and what is made of it.
int main() {
  int starts[] = {0, 2, 3, 5}, columns[] = {0, 2, 1, 0, 2};
  double values[] = {2, 1, 3, 4, 5}, x[] = {1, 2, 3}, y[] = {10, 20, 30}, alpha = 2, beta = 1, zero = 0;
  int *d_starts, *d_columns;
  double *d_values, *d_x, *d_y, *d_m;
  cudaMalloc(&d_starts, sizeof starts), cudaMalloc(&d_columns, sizeof columns), cudaMalloc(&d_values, sizeof values);
  cudaMalloc(&d_x, sizeof x), cudaMalloc(&d_y, sizeof y), cudaMalloc(&d_m, 9 * sizeof(double));
  cudaMemcpy(d_starts, starts, sizeof starts, cudaMemcpyHostToDevice);
  cudaMemcpy(d_columns, columns, sizeof columns, cudaMemcpyHostToDevice);
  cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemcpy(d_y, y, sizeof y, cudaMemcpyHostToDevice);
  auto show = [&](const char* what) {
    cudaMemcpy(y, d_y, sizeof y, cudaMemcpyDeviceToHost);
    printf("%s %g %g %g\n", what, y[0], y[1], y[2]);
  };
  cusparseHandle_t handle;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t vx, vy;
  cusparseDnMatDescr_t dense;
  void* room;
  size_t bytes = 0;
  cusparseCreate(&handle);
  cusparseCreateCsr(&a, 3, 3, 5, d_starts, d_columns, d_values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
  cusparseCreateDnVec(&vx, 3, d_x, CUDA_R_64F);
  cusparseCreateDnVec(&vy, 3, d_y, CUDA_R_64F);
  const auto N = CUSPARSE_OPERATION_NON_TRANSPOSE, T = CUSPARSE_OPERATION_TRANSPOSE;
  cusparseSpMV_bufferSize(handle, N, &alpha, a, vx, &beta, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
  cudaMalloc(&room, bytes);
  cusparseSpMV(handle, N, &alpha, a, vx, &beta, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, room);
  show("product");
  cusparseSpMV(handle, T, &alpha, a, vx, &zero, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, room);
  show("transposed");
  cusparseSpSVDescr_t solver;
  cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
  cusparseSpSV_createDescr(&solver);
  cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower);
  cusparseSpSV_analysis(handle, N, &beta, a, vx, vy, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solver, room);
  cusparseSpSV_solve(handle, N, &beta, a, vx, vy, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solver);
  show("solved");
  // To a dense matrix, doubled by a product with itself, and back without its zeros.
  cusparseCreateDnMat(&dense, 3, 3, 3, d_m, CUDA_R_64F, CUSPARSE_ORDER_ROW);
  cusparseSparseToDense(handle, a, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, room);
  double *d_product, m[9], kept[9];
  int64_t *d_outer, *d_inner, outer[4], rows, others, nnz;
  cudaMalloc(&d_product, sizeof m), cudaMalloc(&d_outer, sizeof outer), cudaMalloc(&d_inner, 9 * sizeof(int64_t));
  cusparseDnMatDescr_t product;
  cusparseCreateDnMat(&product, 3, 3, 3, d_product, CUDA_R_64F, CUSPARSE_ORDER_COL);
  cusparseSpMM(handle, N, N, &beta, a, dense, &zero, product, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, room);
  cudaMemcpy(m, d_product, sizeof m, cudaMemcpyDeviceToHost);
  printf("square %g %g %g %g %g\n", m[0], m[2], m[4], m[6], m[8]);
  cusparseSpMatDescr_t b;
  cusparseCreateCsc(&b, 3, 3, 0, d_outer, d_inner, nullptr, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_64F);
  cusparseDenseToSparse_analysis(handle, dense, b, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, room);
  cusparseSpMatGetSize(b, &rows, &others, &nnz);
  cusparseCscSetPointers(b, d_outer, d_inner, d_product);
  cusparseDenseToSparse_convert(handle, dense, b, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, room);
  cudaMemcpy(kept, d_product, nnz * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(outer, d_outer, sizeof outer, cudaMemcpyDeviceToHost);
  printf("columns %d: %d %d %d, %g %g %g\n", int(nnz), int(outer[1]), int(outer[2]), int(outer[3]), kept[1], kept[2], kept[3]);
  cusparseDestroySpMat(a), cusparseDestroySpMat(b), cusparseDestroyDnVec(vx), cusparseDestroyDnVec(vy);
  cusparseDestroyDnMat(dense), cusparseDestroyDnMat(product), cusparseDestroy(handle);
}
