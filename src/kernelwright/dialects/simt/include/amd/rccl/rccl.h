// Declarations of RCCL for compile checks where no ROCm is installed. Nothing can be run.
// Source: RCCL's and NCCL's API references; the names and numbers are NCCL's.
// Not compared with AMD's own header: a program that compiles with this may not with that.
#pragma once
#include <cstddef>
#include <hip/hip_runtime.h>
#define NCCL_MAJOR 2
#define NCCL_MINOR 20
#define NCCL_PATCH 5
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X) * 1000 + (Y) * 100 + (Z) : (X) * 10000 + (Y) * 100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_SPLIT_NOCOLOR -1
using ncclComm_t = struct ncclComm*;
struct ncclUniqueId { char internal[NCCL_UNIQUE_ID_BYTES]; };
enum ncclResult_t {
  ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage,
  ncclRemoteError, ncclInProgress, ncclNumResults,
};
enum ncclRedOp_t { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, ncclNumOps };
enum ncclDataType_t {
  ncclInt8 = 0, ncclChar = 0, ncclUint8, ncclInt32, ncclInt = 2, ncclUint32, ncclInt64, ncclUint64, ncclFloat16,
  ncclHalf = 6, ncclFloat32, ncclFloat = 7, ncclFloat64, ncclDouble = 8, ncclBfloat16, ncclNumTypes = 12,
};
struct ncclConfig_t {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare;
};
extern "C" {
#define RCCL(name) ncclResult_t nccl##name
#define RCCL_END ncclComm_t, hipStream_t
const char* ncclGetErrorString(ncclResult_t);
const char* ncclGetLastError(ncclComm_t);
RCCL(GetVersion)(int*);
RCCL(GetUniqueId)(ncclUniqueId*);
RCCL(CommInitRank)(ncclComm_t*, int ranks, ncclUniqueId, int rank);
RCCL(CommInitRankConfig)(ncclComm_t*, int ranks, ncclUniqueId, int rank, ncclConfig_t*);
RCCL(CommInitAll)(ncclComm_t*, int devices, const int* list);
RCCL(CommFinalize)(ncclComm_t);
RCCL(CommDestroy)(ncclComm_t);
RCCL(CommAbort)(ncclComm_t);
RCCL(CommSplit)(ncclComm_t, int color, int key, ncclComm_t*, ncclConfig_t*);
RCCL(CommGetAsyncError)(ncclComm_t, ncclResult_t*);
RCCL(CommCount)(const ncclComm_t, int*);
RCCL(CommCuDevice)(const ncclComm_t, int*);
RCCL(CommUserRank)(const ncclComm_t, int*);
RCCL(CommRegister)(const ncclComm_t, void*, size_t, void**);
RCCL(CommDeregister)(const ncclComm_t, void*);
RCCL(MemAlloc)(void**, size_t);
RCCL(MemFree)(void*);
RCCL(Reduce)(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t, int root, RCCL_END);
RCCL(Bcast)(void* both, size_t count, ncclDataType_t, int root, RCCL_END);
RCCL(Broadcast)(const void* from, void* to, size_t count, ncclDataType_t, int root, RCCL_END);
RCCL(AllReduce)(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t, RCCL_END);
RCCL(ReduceScatter)(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t, RCCL_END);
RCCL(AllGather)(const void* from, void* to, size_t count, ncclDataType_t, RCCL_END);
RCCL(Send)(const void* from, size_t count, ncclDataType_t, int peer, RCCL_END);
RCCL(Recv)(void* to, size_t count, ncclDataType_t, int peer, RCCL_END);
RCCL(GroupStart)();
RCCL(GroupEnd)();
#undef RCCL
#undef RCCL_END
}
