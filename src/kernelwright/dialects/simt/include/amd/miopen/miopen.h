// Declarations of MIOpen for compile checks where no ROCm is installed: handles, tensors,
// convolution, pooling, activation, softmax and batch normalisation. Nothing can be run.
// Source: MIOpen's API reference, ROCm 6.2.
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#include <cstddef>
#include <hip/hip_runtime.h>
enum miopenStatus_t {
  miopenStatusSuccess, miopenStatusNotInitialized, miopenStatusInvalidValue, miopenStatusBadParm, miopenStatusAllocFailed,
  miopenStatusInternalError, miopenStatusNotImplemented, miopenStatusUnknownError, miopenStatusUnsupportedOp,
};
enum miopenDataType_t { miopenHalf, miopenFloat, miopenInt32, miopenInt8, miopenBFloat16 = 5, miopenDouble };
enum miopenTensorOp_t { miopenTensorOpAdd, miopenTensorOpMul, miopenTensorOpMin, miopenTensorOpMax };
enum miopenConvolutionMode_t { miopenConvolution, miopenTranspose, miopenGroupConv, miopenDepthwise = 2 };
enum miopenConvFwdAlgorithm_t { miopenConvolutionFwdAlgoGEMM, miopenConvolutionFwdAlgoDirect, miopenConvolutionFwdAlgoFFT, miopenConvolutionFwdAlgoWinograd, miopenConvolutionFwdAlgoImplicitGEMM = 5 };
enum miopenConvBwdDataAlgorithm_t { miopenConvolutionBwdDataAlgoGEMM, miopenConvolutionBwdDataAlgoDirect };
enum miopenConvBwdWeightsAlgorithm_t { miopenConvolutionBwdWeightsAlgoGEMM, miopenConvolutionBwdWeightsAlgoDirect };
enum miopenPoolingMode_t { miopenPoolingMax, miopenPoolingAverage, miopenPoolingAverageInclusive };
enum miopenActivationMode_t {
  miopenActivationPASTHRU, miopenActivationLOGISTIC, miopenActivationTANH, miopenActivationRELU, miopenActivationSOFTRELU,
  miopenActivationABS, miopenActivationPOWER, miopenActivationCLIPPEDRELU, miopenActivationLEAKYRELU, miopenActivationELU,
};
enum miopenSoftmaxAlgorithm_t { MIOPEN_SOFTMAX_FAST, MIOPEN_SOFTMAX_ACCURATE, MIOPEN_SOFTMAX_LOG };
enum miopenSoftmaxMode_t { MIOPEN_SOFTMAX_MODE_INSTANCE, MIOPEN_SOFTMAX_MODE_CHANNEL };
enum miopenBatchNormMode_t { miopenBNPerActivation, miopenBNSpatial };
using miopenHandle_t = struct miopenHandle*;
using miopenTensorDescriptor_t = struct miopenTensorDescriptor*;
using miopenConvolutionDescriptor_t = struct miopenConvolutionDescriptor*;
using miopenPoolingDescriptor_t = struct miopenPoolingDescriptor*;
using miopenActivationDescriptor_t = struct miopenActivationDescriptor*;
struct miopenConvAlgoPerf_t {
  union {
    miopenConvFwdAlgorithm_t fwd_algo;
    miopenConvBwdWeightsAlgorithm_t bwd_weights_algo;
    miopenConvBwdDataAlgorithm_t bwd_data_algo;
  };
  float time;
  size_t memory;
};
extern "C" {
#define MIOPEN(name) miopenStatus_t miopen##name
#define MIOPEN_IN const miopenTensorDescriptor_t, const void*
#define MIOPEN_OUT const miopenTensorDescriptor_t, void*
const char* miopenGetErrorString(miopenStatus_t);
MIOPEN(Create)(miopenHandle_t*);
MIOPEN(CreateWithStream)(miopenHandle_t*, hipStream_t);
MIOPEN(Destroy)(miopenHandle_t);
MIOPEN(SetStream)(miopenHandle_t, hipStream_t);
MIOPEN(GetStream)(miopenHandle_t, hipStream_t*);
// ---- tensors
MIOPEN(CreateTensorDescriptor)(miopenTensorDescriptor_t*);
MIOPEN(DestroyTensorDescriptor)(miopenTensorDescriptor_t);
MIOPEN(Set4dTensorDescriptor)(miopenTensorDescriptor_t, miopenDataType_t, int n, int c, int h, int w);
MIOPEN(Set4dTensorDescriptorEx)(miopenTensorDescriptor_t, miopenDataType_t, int n, int c, int h, int w, int n_step, int c_step, int h_step, int w_step);
MIOPEN(Get4dTensorDescriptor)(miopenTensorDescriptor_t, miopenDataType_t*, int* n, int* c, int* h, int* w, int* n_step, int* c_step, int* h_step, int* w_step);
MIOPEN(SetTensorDescriptor)(miopenTensorDescriptor_t, miopenDataType_t, int dims, const int* sizes, const int* steps);
MIOPEN(OpTensor)(miopenHandle_t, miopenTensorOp_t, const void* alpha1, MIOPEN_IN, const void* alpha2, MIOPEN_IN, const void* beta, MIOPEN_OUT);
MIOPEN(SetTensor)(miopenHandle_t, MIOPEN_OUT, const void* value);
MIOPEN(ScaleTensor)(miopenHandle_t, MIOPEN_OUT, const void* factor);
MIOPEN(TransformTensor)(miopenHandle_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT);
// ---- convolution
MIOPEN(CreateConvolutionDescriptor)(miopenConvolutionDescriptor_t*);
MIOPEN(DestroyConvolutionDescriptor)(miopenConvolutionDescriptor_t);
MIOPEN(InitConvolutionDescriptor)(miopenConvolutionDescriptor_t, miopenConvolutionMode_t, int pad_h, int pad_w, int step_h, int step_w, int dilation_h, int dilation_w);
MIOPEN(SetConvolutionGroupCount)(miopenConvolutionDescriptor_t, int);
MIOPEN(GetConvolutionForwardOutputDim)(miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t in, const miopenTensorDescriptor_t filter, int* n, int* c, int* h, int* w);
MIOPEN(ConvolutionForwardGetWorkSpaceSize)(miopenHandle_t, const miopenTensorDescriptor_t filter, const miopenTensorDescriptor_t in, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t out, size_t*);
MIOPEN(ConvolutionBackwardDataGetWorkSpaceSize)(miopenHandle_t, const miopenTensorDescriptor_t dy, const miopenTensorDescriptor_t filter, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t dx, size_t*);
MIOPEN(FindConvolutionForwardAlgorithm)(miopenHandle_t, MIOPEN_IN, MIOPEN_IN, const miopenConvolutionDescriptor_t, MIOPEN_OUT, int asked, int* found, miopenConvAlgoPerf_t*, void* room, size_t, bool exhaustive);
MIOPEN(ConvolutionForward)(miopenHandle_t, const void* alpha, MIOPEN_IN, MIOPEN_IN, const miopenConvolutionDescriptor_t, miopenConvFwdAlgorithm_t, const void* beta, MIOPEN_OUT, void* room, size_t);
MIOPEN(ConvolutionForwardBias)(miopenHandle_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT);
MIOPEN(ConvolutionBackwardData)(miopenHandle_t, const void* alpha, MIOPEN_IN, MIOPEN_IN, const miopenConvolutionDescriptor_t, miopenConvBwdDataAlgorithm_t, const void* beta, MIOPEN_OUT, void* room, size_t);
MIOPEN(ConvolutionBackwardWeights)(miopenHandle_t, const void* alpha, MIOPEN_IN, MIOPEN_IN, const miopenConvolutionDescriptor_t, miopenConvBwdWeightsAlgorithm_t, const void* beta, MIOPEN_OUT, void* room, size_t);
MIOPEN(ConvolutionBackwardBias)(miopenHandle_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT);
// ---- pooling, activation, softmax, batch normalisation
MIOPEN(CreatePoolingDescriptor)(miopenPoolingDescriptor_t*);
MIOPEN(DestroyPoolingDescriptor)(miopenPoolingDescriptor_t);
MIOPEN(Set2dPoolingDescriptor)(miopenPoolingDescriptor_t, miopenPoolingMode_t, int window_h, int window_w, int pad_h, int pad_w, int step_h, int step_w);
MIOPEN(GetPoolingForwardOutputDim)(const miopenPoolingDescriptor_t, const miopenTensorDescriptor_t, int* n, int* c, int* h, int* w);
MIOPEN(PoolingForward)(miopenHandle_t, const miopenPoolingDescriptor_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT, bool goes_back, void* room, size_t);
MIOPEN(CreateActivationDescriptor)(miopenActivationDescriptor_t*);
MIOPEN(DestroyActivationDescriptor)(miopenActivationDescriptor_t);
MIOPEN(SetActivationDescriptor)(miopenActivationDescriptor_t, miopenActivationMode_t, double alpha, double beta, double gamma);
MIOPEN(ActivationForward)(miopenHandle_t, const miopenActivationDescriptor_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT);
MIOPEN(ActivationBackward)(miopenHandle_t, const miopenActivationDescriptor_t, const void* alpha, MIOPEN_IN, MIOPEN_IN, MIOPEN_IN, const void* beta, MIOPEN_OUT);
MIOPEN(SoftmaxForward)(miopenHandle_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT);
MIOPEN(SoftmaxForward_V2)(miopenHandle_t, const void* alpha, MIOPEN_IN, const void* beta, MIOPEN_OUT, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t);
MIOPEN(SoftmaxBackward_V2)(miopenHandle_t, const void* alpha, MIOPEN_IN, MIOPEN_IN, const void* beta, MIOPEN_OUT, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t);
MIOPEN(BatchNormalizationForwardInference)(miopenHandle_t, miopenBatchNormMode_t, void* alpha, void* beta, MIOPEN_IN, MIOPEN_OUT, const miopenTensorDescriptor_t, void* scale, void* bias, void* mean, void* variance, double epsilon);
#undef MIOPEN
#undef MIOPEN_IN
#undef MIOPEN_OUT
}
