// Matrix products of quantized weights with columns of floats, in WASM's SIMD. `mul_mat` takes the place of
// ggml_compute_forward_mul_mat; what it does not know it leaves to the original, which stays in the module.
// Where ggml has one scale for a block (Q8_0, Q4_0, Q4_1, Q5_0, Q5_1), products of blocks are added in the original's order:
// such results are equal to the original's, bit by bit.
#pragma once
#include "rows.h"

typedef struct {
  const uint8_t *rows, *columns;
  size_t row_size, column_size, blocks, stride;
  int64_t count;
  uint8_t *to;
} job;

/** Rows from `first` up to before `end`, at least 4 of them. */
ALONE void compute(int type, const job *j, int64_t first, int64_t end) {
  const fast_dot fast = find_fast_dot();
  uint8_t laid[LAID_OUT] __attribute__((aligned(16)));
  v128_t overlapping[COLUMNS];
  for (int64_t c = 0; c < j->count; c += COLUMNS) {
    const int count = j->count - c < COLUMNS ? (int)(j->count - c) : COLUMNS;
    const size_t most = LAID_OUT / (count * laid_block(type, fast));
    for (size_t b = 0; b < j->blocks; b += most) {
      const size_t blocks = j->blocks - b < most ? j->blocks - b : most;
      const uint8_t *columns = j->columns + c * j->column_size + b * column_block(type);
      const product p = {j->rows + b * row_block(type), laid, j->row_size, blocks, count, b > 0, j->to + c * j->stride, j->stride, flip_of(fast), hidden_zero(), overlapping};
      switch (type) {
#define CASE(type) case type: lay_out(type, fast, columns, j->column_size, count, blocks, laid); rows_##type(fast != NO_DOT, &p, first, end); break;
        CASE(Q8_0) CASE(Q4_0) CASE(Q4_1) CASE(Q5_0) CASE(Q5_1) CASE(Q4_K) CASE(Q5_K) CASE(Q6_K)
      }
    }
  }
}

INLINE bool is_known(int type) {
  return type < 15 && (1 << type & (1 << Q8_0 | 1 << Q4_0 | 1 << Q4_1 | 1 << Q5_0 | 1 << Q5_1 | 1 << Q4_K | 1 << Q5_K | 1 << Q6_K)) != 0;
}

EXPORT(mul_mat) void mul_mat(const params *p, tensor *dst) {
  const tensor *weights = dst->src[0], *x = dst->src[1];
  const int type = weights->type;
  const int64_t rows = weights->ne[1], columns = x->ne[1];
  if (!is_known(type) || x->type != F32 || dst->type != F32 || p->use_ref || dst->op_params[1] || rows < 4 || weights->ne[2] != 1 ||
      weights->ne[3] != 1 || x->ne[2] != 1 || x->ne[3] != 1 || x->nb[0] != 4 || dst->nb[0] != 4 ||
      weights->nb[0] != row_block(type)) {
    original_mul_mat(p, dst);
    return;
  }
  const int64_t blocks = weights->ne[0] / quants_in_block(type);
  const int64_t ith = p->ith, nth = p->nth;
  quantize(type, x, p->wdata, blocks * ith / nth, blocks * (ith + 1) / nth);
  int32_t *const chunk = (int32_t *)(p->pool + CURRENT_CHUNK);
  if (ith == 0) __atomic_store_n(chunk, (int32_t)nth, __ATOMIC_SEQ_CST);
  ggml_barrier(p->pool);

  const job j = {weights->data, p->wdata, weights->nb[1], blocks * column_block(type), blocks, dst->nb[1], columns, dst->data};
  int64_t size = nth == 1 ? rows : (rows / (8 * nth) + 3) & ~3;
  if (size < 16) size = 16;
  // The last rows belong to those before where they are fewer than 4.
  for (int64_t i = ith; i * size < rows && (i == 0 || rows - i * size >= 4);) {
    const int64_t end = (i + 1) * size + 4 <= rows ? (i + 1) * size : rows;
    compute(type, &j, i * size, end);
    if (nth == 1) break;
    i = __atomic_fetch_add(chunk, 1, __ATOMIC_SEQ_CST);
  }
}
