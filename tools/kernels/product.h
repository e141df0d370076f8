// Matrix products of quantized weights with columns of floats, in WASM's SIMD. `mul_mat` takes the place of
// ggml_compute_forward_mul_mat; what it does not know it leaves to the original, which stays in the module.
// Where ggml has one scale for a block (Q8_0, Q4_0, Q4_1, Q5_0, Q5_1), products of blocks are added in the original's order:
// such results are equal to the original's, bit by bit.
#pragma once
#include "single.h"
#include "tile.h"

typedef struct {
  const uint8_t *rows, *columns;
  size_t row_size, column_size, blocks, stride;
  int64_t count;
  uint8_t *to;
} job;

/** Rows from `first` up to before `end`, at least 4 of them: the last four may overlap with those before. */
ALONE void compute(int type, const job *j, int64_t first, int64_t end) {
  const int64_t whole = j->count & ~3;
  for (int64_t c = 0, next; c < j->count; c = next) {
    next = c + 4 * GROUPS <= whole ? c + 4 * GROUPS : c < whole ? whole : c + 1;
    const uint8_t *column = j->columns + c * j->column_size;
    float scales[LONGEST / 32 * SCALES], offsets[LONGEST / 32 * SCALES];
    if (c < whole) scales_of(type, j->blocks, column, (int)(next - c) / 4, scales, offsets);
    for (int64_t i = first; i < end; i += 4) {
      const int64_t r = i + 4 > end ? end - 4 : i;
      const uint8_t *row = j->rows + r * j->row_size;
      float *to = (float *)(j->to + c * j->stride) + r;
      if (c < whole) tile(type, j->blocks, row, j->row_size, column, (int)(next - c) / 4, scales, offsets, to, j->stride);
      else {
        const size_t ahead = i + 4 * AHEAD + 4 <= end ? 4 * AHEAD * j->row_size : 0;
        switch (type) {
        case Q8_0: single_Q8_0(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q4_0: single_Q4_0(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q4_1: single_Q4_1(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q5_0: single_Q5_0(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q5_1: single_Q5_1(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q4_K: single_Q4_K(j->blocks, row, j->row_size, column, ahead, to); break;
        case Q5_K: single_Q5_K(j->blocks, row, j->row_size, column, ahead, to); break;
        default: single_Q6_K(j->blocks, row, j->row_size, column, ahead, to); break;
        }
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
  if (!is_known(type) || x->type != F32 || dst->type != F32 || p->use_ref || dst->op_params[1] || rows < 4 || weights->ne[0] > LONGEST || weights->ne[2] != 1 ||
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
  for (int64_t i = ith; i * size < rows;) {
    int64_t first = i * size, end = first + size < rows ? first + size : rows;
    if (end - first < 4) first = end - 4;
    compute(type, &j, first, end);
    if (nth == 1) break;
    i = __atomic_fetch_add(chunk, 1, __ATOMIC_SEQ_CST);
  }
}
