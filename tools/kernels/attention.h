// Attention over keys and values in Q8_0. `flash` takes the place of ggml_compute_forward_flash_attn_ext_f16_one_chunk.
// Queries that share keys and values (tokens, and heads in groups) go together, up to 16. Each query's sums are made in the
// original's order: bit by bit the same. Where a sequence of the cache is computed alone, its rows are listed.
#pragma once
#include "exponential.h"
#include "rows.h"

enum { F16 = 1 };
#define KEYS 32
#define QUERIES COLUMNS
#define GROUPS (QUERIES / 4)
#define WIDEST 256

/** Rows of values: floats, or blocks with their scales as floats, `KEYS` for each 32 values. */
typedef struct {
  const float *floats;
  const uint8_t *rows;
  size_t step;
  const float *scales;
} value_rows;

/** Adds values, times their weights, to the sums of 1 to 4 queries. */
INLINE void add_values(int queries, bool are_floats, const value_rows *from, float *sums, size_t width, const float *weights, int first, int end) {
  const int vectors = queries > 2 ? 2 : queries == 2 ? 4 : 8;
  for (size_t d = 0; d < width; d += 4 * vectors) {
    v128_t sum[8];
    for (int k = 0; k < queries * vectors; k++) sum[k] = wasm_v128_load(sums + k / vectors * width + d + k % vectors * 4);
    for (int i = first; i < end; i++) {
      v128_t value[8];
      if (are_floats) for (int k = 0; k < vectors; k++) value[k] = wasm_v128_load(from->floats + i * width + d + 4 * k);
      else {
        const v128_t scale = wasm_v128_load32_splat(from->scales + d / 32 * KEYS + i);
        for (int k = 0; k < vectors; k += 2) {
          const v128_t x = wasm_i16x8_load8x8(from->rows + i * from->step + d / 32 * 34 + 2 + d % 32 + 4 * k);
          value[k] = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(x)), scale);
          value[k + 1] = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(x)), scale);
        }
      }
      const v128_t four = wasm_v128_load(weights + i * QUERIES);
      for (int k = 0; k < queries * vectors; k++) sum[k] = wasm_f32x4_add(sum[k], wasm_f32x4_mul(value[k % vectors], lane(four, k / vectors)));
    }
    for (int k = 0; k < queries * vectors; k++) wasm_v128_store(sums + k / vectors * width + d + k % vectors * 4, sum[k]);
  }
}
#define ADD(name, queries, are_floats) \
  ALONE void name(const value_rows *from, float *sums, size_t width, const float *weights, int first, int end) { \
    const value_rows rows = *from; \
    add_values(queries, are_floats, &rows, sums, width, weights, first, end); \
  }
ADD(add_floats, 4, true)
ADD(add_bytes_1, 1, false)
ADD(add_bytes_2, 2, false)
ADD(add_bytes_3, 3, false)
ADD(add_bytes_4, 4, false)
INLINE void add_some(int queries, const value_rows *from, float *sums, size_t width, const float *weights, int first, int end) {
  if (from->floats) add_floats(from, sums, width, weights, first, end);
  else if (queries == 1) add_bytes_1(from, sums, width, weights, first, end);
  else if (queries == 2) add_bytes_2(from, sums, width, weights, first, end);
  else if (queries == 3) add_bytes_3(from, sums, width, weights, first, end);
  else add_bytes_4(from, sums, width, weights, first, end);
}
INLINE void multiply(float *x, size_t width, float factor) {
  for (size_t d = 0; d < width; d += 4) wasm_v128_store(x + d, wasm_f32x4_mul(wasm_v128_load(x + d), wasm_f32x4_splat(factor)));
}
INLINE void values_of(const uint8_t *row, size_t blocks, float *to) {
  for (size_t b = 0; b < blocks; b++, row += 34, to += 32) {
    const v128_t scale = wasm_f32x4_splat(float_of(row));
    for (int i = 0; i < 4; i++) {
      const v128_t x = wasm_i16x8_load8x8(row + 2 + 8 * i);
      wasm_v128_store(to + 8 * i, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(x)), scale));
      wasm_v128_store(to + 8 * i + 4, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(x)), scale));
    }
  }
}
#define HIDDEN 0xfc00
/** How many of some keys a mask lets through. */
typedef enum { NONE, SOME, ALL } visible;
INLINE visible visible_keys(const uint16_t *const *masks, int count, int64_t first, int n) {
  uint64_t hidden = 0, any = 0;
  for (int c = 0; c < count; c++)
    for (int i = 0; i < n; i += 4) {
      const uint64_t four = *(const uint64_t *)(masks[c] + first + i);
      hidden |= four ^ 0xfc00fc00fc00fc00ull;
      any |= four;
    }
  return hidden == 0 ? NONE : any ? SOME : ALL;
}
/** Adds the masks of 4 queries to their scores of 4 keys. A hidden key's score becomes -Infinity. */
INLINE void add_masks(const uint16_t *const *masks, int64_t key, float *scores) {
  const v128_t a = wasm_u32x4_load16x4(masks[0] + key), b = wasm_u32x4_load16x4(masks[1] + key);
  const v128_t c = wasm_u32x4_load16x4(masks[2] + key), d = wasm_u32x4_load16x4(masks[3] + key);
  const v128_t ab0 = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), ab1 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
  const v128_t cd0 = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), cd1 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  const v128_t keys[4] = {wasm_i64x2_shuffle(ab0, cd0, 0, 2), wasm_i64x2_shuffle(ab0, cd0, 1, 3), wasm_i64x2_shuffle(ab1, cd1, 0, 2),
                          wasm_i64x2_shuffle(ab1, cd1, 1, 3)};
  const half_reader half = half_reader_of(wasm_i32x4_const_splat(0));
  for (int i = 0; i < 4; i++, scores += QUERIES) {
    const v128_t sum = wasm_f32x4_add(wasm_v128_load(scores), low_floats(&half, true, keys[i]));
    const v128_t hidden = wasm_i32x4_eq(keys[i], wasm_i32x4_const_splat(HIDDEN));
    wasm_v128_store(scores, wasm_v128_bitselect(wasm_f32x4_const_splat(-__builtin_inff()), sum, hidden));
  }
}

/** Four queries' largest scores, sums of weights, and weighted sums of values. */
typedef struct {
  v128_t most, total;
  float *sums;
  int queries;
} group;

/** Makes weights of the scores of `n` keys, a lane for each query, and adds the keys' values. */
ALONE void weigh(const powers *table, group *g, size_t width, float *scores, const value_rows *values, int n) {
  v128_t most = g->most, total = g->total;
  int first = 0;
  for (int i = 0; i < n; i++) {
    const v128_t x = wasm_v128_load(scores + i * QUERIES), greater = wasm_f32x4_gt(x, most);
    if (wasm_v128_any_true(greater)) {
      if (first < i) add_some(g->queries, values, g->sums, width, scores, first, i);
      const v128_t factor = wasm_v128_bitselect(exponential4(table, wasm_f32x4_sub(most, x)), wasm_f32x4_const_splat(1), greater);
      float factors[4];
      wasm_v128_store(factors, factor);
      for (int c = 0; c < g->queries; c++) multiply(g->sums + c * width, width, factors[c]);
      total = wasm_f32x4_mul(total, factor);
      most = wasm_v128_bitselect(x, most, greater);
      first = i;
    }
    const v128_t seen = wasm_f32x4_ne(x, wasm_f32x4_const_splat(-__builtin_inff()));
    const v128_t weight = wasm_v128_and(exponential4(table, wasm_f32x4_sub(x, most)), seen);
    total = wasm_f32x4_add(total, weight);
    wasm_v128_store(scores + i * QUERIES, weight);
  }
  add_some(g->queries, values, g->sums, width, scores, first, n);
  g->most = most;
  g->total = total;
}

/** Row of a key in the cache: its own number, unless the rows of a sequence are listed. Below 0: none, the key is hidden. */
INLINE int64_t row_of(const int32_t *rows, int64_t key) { return rows ? rows[key] : key; }

/** Rows that are `*step` bytes apart: those of the cache, or copies in `copy` where they do not follow each other. */
INLINE const uint8_t *some_rows(const uint8_t *all, size_t *step, const int32_t *rows, int64_t first, int n, size_t blocks, uint8_t *copy) {
  const int64_t row = row_of(rows, first);
  int next = 1;
  while (rows && next < n && rows[first + next] == row + next) next++;
  if (!rows || (row >= 0 && next == n)) return all + row * *step;
  uint8_t *to = copy;
  for (int i = 0; i < n; i++)
    for (size_t b = 0; b < blocks; b++, to += 34) {
      const bool is_hidden = rows[first + i] < 0;
      const uint8_t *const from = all + (is_hidden ? 0 : rows[first + i] * *step) + 34 * b;
      // Without a scale, a hidden key's values are 0. Its weight of 0 would make NaN of other bytes.
      *(uint16_t *)to = is_hidden ? 0 : *(const uint16_t *)from;
      for (int half = 2; half < 34; half += 16) wasm_v128_store(to + half, wasm_v128_load(from + half));
    }
  *step = 34 * blocks;
  return copy;
}

EXPORT(flash) void flash(const params *p, tensor *dst, int32_t ir0, int32_t ir1, int64_t ic_start,
                                                 int64_t ic_end, float *partials, int64_t partial_stride) {
  const tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2], *mask = dst->src[3], *listed = dst->src[5];
  const size_t width = q->ne[0], value_width = v->ne[0];
  const float scale = ((const float *)dst->op_params)[0];
  if (k->type != Q8_0 || v->type != Q8_0 || q->type != F32 || partials || dst->src[4] || dst->op_params[1] || dst->op_params[2] ||
      width > WIDEST || value_width > WIDEST || width % 32 || value_width % 32 || k->nb[0] != 34 || v->nb[0] != 34 ||
      (mask && mask->type != F16) || (ic_end - ic_start) % 4 || k->ne[2] != v->ne[2] || k->ne[3] != v->ne[3]) {
    original_flash(p, dst, ir0, ir1, ic_start, ic_end, partials, partial_stride);
    return;
  }
  const int64_t tokens = q->ne[1], heads = q->ne[2], shared = heads / k->ne[2], repeated = q->ne[3] / k->ne[3];
  const size_t blocks = width / 32, value_blocks = value_width / 32;
  const half_reader half = half_reader_of(hidden_zero());
  uint8_t query[34], columns[QUERIES * WIDEST / 32 * 72] __attribute__((aligned(16)));
  float products[QUERIES * KEYS] __attribute__((aligned(16)));
  float scores[QUERIES * KEYS] __attribute__((aligned(16))), values[KEYS * WIDEST] __attribute__((aligned(16)));
  float scales[KEYS * WIDEST / 32] __attribute__((aligned(16)));
  float sums[QUERIES * WIDEST] __attribute__((aligned(16)));
  uint8_t copied[KEYS * WIDEST / 32 * 34], copied_values[KEYS * WIDEST / 32 * 34];
  const uint16_t *masks[QUERIES];
  group state[GROUPS];
  uint8_t *to[QUERIES];
  const fast_dot fast = find_fast_dot();
  powers table;
  write_powers(&table);
  for (int64_t ir = ir0; ir < ir1;) {
    const int64_t i3 = ir / (heads * tokens), head = (ir - i3 * heads * tokens) / tokens, pair = head / shared;
    int64_t end = i3 * heads * tokens + (pair + 1) * shared * tokens;
    if (end > ir1) end = ir1;
    const int count = end - ir < QUERIES ? (int)(end - ir) : QUERIES, groups = (count + 3) / 4;
    const int different = tokens == 1 && mask && mask->ne[2] == 1 ? 1 : count;
    for (int c = 0; c < groups * 4; c++) {
      const int64_t row = ir + (c < count ? c : count - 1) - i3 * heads * tokens, h = row / tokens, t = row % tokens;
      const uint8_t *from = q->data + t * q->nb[1] + h * q->nb[2] + i3 * q->nb[3];
      if (c < count)
        for (size_t b = 0; b < blocks; b++) {
          quantize_block32(from + 128 * b, query, false);
          lay_block(Q8_0, fast, count, query, columns + (b * count + c) * laid_block(Q8_0, fast));
        }
      if (mask)
        masks[c] = (const uint16_t *)(mask->data + t * mask->nb[1] + h % mask->ne[2] * mask->nb[2] + i3 % mask->ne[3] * mask->nb[3]);
      to[c] = dst->data + (i3 * dst->ne[2] * dst->ne[1] + h + t * dst->ne[1]) * dst->nb[1];
      for (size_t d = 0; d < value_width; d += 4) wasm_v128_store(sums + c * value_width + d, wasm_f32x4_const_splat(0));
    }
    for (int g = 0; g < groups; g++)
      state[g] = (group){wasm_f32x4_const_splat(-__builtin_inff()), wasm_f32x4_const_splat(0), sums + 4 * g * value_width, groups == 1 ? count : 4};
    const uint8_t *keys = k->data + pair * k->nb[2] + i3 / repeated * k->nb[3];
    const uint8_t *all_values = v->data + pair * v->nb[2] + i3 / repeated * v->nb[3];
    const int32_t *rows = listed ? (const int32_t *)(listed->data + i3 * listed->nb[1]) : NULL;
    for (int64_t ic = ic_start; ic < ic_end; ic += KEYS) {
      const int n = ic_end - ic < KEYS ? (int)(ic_end - ic) : KEYS;
      const visible seen = mask ? visible_keys(masks, different, ic, n) : ALL;
      if (seen == NONE) continue;
      size_t step = k->nb[1];
      const uint8_t *some = some_rows(keys, &step, rows, ic, n, blocks, copied);
      const product p = {some, columns, step, blocks, count, false, (uint8_t *)products, 4 * KEYS, flip_of(fast), hidden_zero(), 0};
      rows_Q8_0(fast != NO_DOT, &p, 0, n);
      for (int i = 0; i < n; i += 4)
        for (int g = 0; g < groups; g++) {
          float *const at = scores + i * QUERIES + 4 * g;
          v128_t four[4];
          for (int c = 0; c < 4; c++) {
            const int query = 4 * g + c < count ? 4 * g + c : count - 1;
            four[c] = wasm_f32x4_mul(wasm_v128_load(products + query * KEYS + i), wasm_f32x4_splat(scale));
          }
          transpose(four, four);
          for (int r = 0; r < 4; r++) wasm_v128_store(at + r * QUERIES, four[r]);
          if (seen == SOME) add_masks(masks + 4 * g, ic + i, at);
        }
      for (int i = 0; rows && i < n; i++)
        if (rows[ic + i] < 0)
          for (int g = 0; g < groups; g++) wasm_v128_store(scores + i * QUERIES + 4 * g, wasm_f32x4_const_splat(-__builtin_inff()));
      value_rows of = {groups == 1 ? NULL : values, 0, v->nb[1], scales};
      of.rows = some_rows(all_values, &of.step, rows, ic, n, value_blocks, copied_values);
      // For one group, values are made of bytes as they are added.
      for (int i = 0; groups > 1 && i < n; i++) values_of(of.rows + i * of.step, value_blocks, values + i * value_width);
      for (size_t b = 0; groups == 1 && b < value_blocks; b++)
        for (int i = 0; i < n; i += 4)
          wasm_v128_store(scales + b * KEYS + i, low_floats(&half, true, four_halves(of.rows + i * of.step + 34 * b, of.step)));
      for (int g = 0; g < groups; g++) weigh(&table, state + g, value_width, scores + 4 * g, &of, n);
    }
    for (int c = 0; c < count; c++) {
      float *const sum = sums + c * value_width;
      const float total = ((const float *)&state[c / 4].total)[c % 4];
      multiply(sum, value_width, total == 0 ? 0 : 1 / total);
      for (size_t d = 0; d < value_width; d += 4) wasm_v128_store(to[c] + 4 * d, wasm_v128_load(sum + d));
    }
    ir += count;
  }
}
