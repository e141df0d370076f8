// llama.cpp's structs, as far as the kernels read them, and the functions of its module that they call.
// src/node/kernels/llama-abi.ts checks the offsets against the module's own code before anything is linked.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#define INLINE static inline __attribute__((always_inline))
/** Keeps the loops small enough for the browser's compiler. */
#define ALONE static __attribute__((noinline))
#define IMPORT(name) __attribute__((import_module("env"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

typedef struct tensor tensor;
struct tensor {
  int32_t type;
  void *buffer;
  int64_t ne[4];
  size_t nb[4];
  int32_t op, op_params[16], flags;
  tensor *src[10], *view_src;
  size_t view_offs;
  uint8_t *data;
};
typedef struct {
  int32_t ith, nth;
  size_t wsize;
  uint8_t *wdata;
  uint8_t *pool;
  bool use_ref;
} params;
#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(tensor, src) == 152 && offsetof(tensor, data) == 248 && offsetof(params, pool) == 24, "64");
#else
_Static_assert(offsetof(tensor, src) == 128 && offsetof(tensor, data) == 176 && offsetof(params, pool) == 16, "32");
#endif
/** Of the thread pool: the counter from which threads take their rows. */
#define CURRENT_CHUNK 256

IMPORT(original_mul_mat) void original_mul_mat(const params *, tensor *);
IMPORT(ggml_barrier) void ggml_barrier(void *);
IMPORT(original_flash)
void original_flash(const params *, tensor *, int32_t, int32_t, int64_t, int64_t, float *, int64_t);
IMPORT(quantize_row_q8_K) void quantize_row_q8_K(const float *, void *, int64_t);
