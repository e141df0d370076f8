// Products of 4 rows with 1 column: a lane for each row.
#pragma once
#include "rows.h"

INLINE v128_t transposed_sum(const v128_t s[4]) {
  const v128_t a = wasm_i32x4_add(wasm_i32x4_shuffle(s[0], s[1], 0, 4, 1, 5), wasm_i32x4_shuffle(s[0], s[1], 2, 6, 3, 7));
  const v128_t b = wasm_i32x4_add(wasm_i32x4_shuffle(s[2], s[3], 0, 4, 1, 5), wasm_i32x4_shuffle(s[2], s[3], 2, 6, 3, 7));
  return wasm_i32x4_add(wasm_i64x2_shuffle(a, b, 0, 2), wasm_i64x2_shuffle(a, b, 1, 3));
}

/** Adds the products of 32 bytes of 4 rows with those of the column. */
INLINE void add_bytes(int type, const uint8_t *row, size_t row_size, int part, const uint8_t *values, v128_t s[4]) {
  const v128_t x = wasm_v128_load(values), y = wasm_v128_load(values + 16);
  const v128_t x_zero = wasm_i16x8_mul(wasm_i16x8_extadd_pairwise_i8x16(x), wasm_i16x8_splat(zero_of(type)));
  const v128_t y_zero = wasm_i16x8_mul(wasm_i16x8_extadd_pairwise_i8x16(y), wasm_i16x8_splat(zero_of(type)));
  for (int r = 0; r < 4; r++) {
    v128_t w[2];
    unpack_bytes(type, row + r * row_size, part, w);
    v128_t p = dot_bytes(x, w[0]), q = dot_bytes(y, w[1]);
    if (zero_of(type)) {
      p = wasm_i16x8_sub(p, x_zero);
      q = wasm_i16x8_sub(q, y_zero);
    }
    if (type == Q6_K) {
      int scales[2];
      scales_of_part(type, row + r * row_size, part, scales);
      s[r] = dot_add(s[r], p, wasm_i16x8_splat(scales[0]));
      s[r] = dot_add(s[r], q, wasm_i16x8_splat(scales[1]));
    } else if (is_k(type)) {
      int scales[2];
      scales_of_part(type, row + r * row_size, part, scales);
      s[r] = dot_add(s[r], wasm_i16x8_add(p, q), wasm_i16x8_splat(scales[0]));
    } else s[r] = wasm_i32x4_add(s[r], widened(wasm_i16x8_add(p, q)));
  }
}

#ifndef AHEAD
#define AHEAD 8
#endif
/** @param ahead bytes to rows computed soon: they are read in order here, which lets the processor fetch them in time */
INLINE void single(int type, size_t blocks, const uint8_t *row, size_t row_size, const uint8_t *column, size_t ahead, float *to) {
  const size_t bytes = row_block(type), column_bytes = column_block(type);
  const int parts = quants_in_block(type) / 32;
  const uint8_t *next = row + ahead;
  v128_t sum = wasm_f32x4_const_splat(0);
  for (size_t b = 0; b < blocks; b++, row += bytes, column += column_bytes, next += 4 * bytes) {
    if (AHEAD)
      for (size_t at = 0; at < 4 * bytes; at += 64) (void)*(const volatile uint8_t *)(next + at);
    v128_t s[4], m[4];
    for (int r = 0; r < 4; r++) s[r] = m[r] = wasm_i32x4_const_splat(0);
    const uint8_t *values = column + (is_k(type) || has_offset(type) ? 4 : 2);
#pragma clang loop unroll(disable)
    for (int part = 0; part < parts; part++) {
      if (in_bytes(type)) {
        add_bytes(type, row, row_size, part, values + 32 * part, s);
        continue;
      }
      v128_t x[4];
      for (int i = 0; i < 4; i++) x[i] = wasm_i16x8_load8x8(values + 32 * part + 8 * i);
      for (int r = 0; r < 4; r++) {
        v128_t w[4];
        unpack(type, row + r * row_size, part, w);
        for (int i = 0; i < 4; i++) s[r] = dot_add(s[r], w[i], x[i]);
      }
    }
    const bool two = has_offset(type) || type == Q4_K || type == Q5_K;
    const v128_t words = two ? four_words(row, row_size) : s[0];
    const v128_t scale = two ? floats_of(words) : four_halves(row + (type == Q6_K ? 208 : 0), row_size);
    const v128_t product = transposed_sum(s);
    if (has_offset(type)) {
      const v128_t both = wasm_v128_load32_splat(column);
      const v128_t p = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(product), wasm_f32x4_mul(scale, floats_of(both)));
      sum = wasm_f32x4_add(sum, wasm_f32x4_add(p, wasm_f32x4_mul(upper(words), upper(both))));
    } else {
      const v128_t column_scale = is_k(type) ? wasm_v128_load32_splat(column) : floats_of(wasm_v128_load16_splat(column));
      sum = add_up(type, sum, product, scale, column_scale);
      if (type == Q4_K || type == Q5_K) {
        v128_t low = wasm_v128_load(column + 260), high = wasm_v128_load(column + 276);
        for (int r = 0; r < 4; r++) {
          int o[8], k;
          for (int part = 0; part < 8; part++) scale_and_offset(row + r * row_size + 4, part, &k, o + part);
          m[r] = dot_add(m[r], low, wasm_i16x8_make(o[0], o[0], o[1], o[1], o[2], o[2], o[3], o[3]));
          m[r] = dot_add(m[r], high, wasm_i16x8_make(o[4], o[4], o[5], o[5], o[6], o[6], o[7], o[7]));
        }
        const v128_t minus = wasm_f32x4_convert_i32x4(transposed_sum(m));
        sum = wasm_f32x4_sub(sum, wasm_f32x4_mul(minus, wasm_f32x4_mul(upper(words), column_scale)));
      }
    }
  }
  wasm_v128_store(to, sum);
}

#define SINGLE(type) \
  ALONE void single_##type(size_t blocks, const uint8_t *row, size_t row_size, const uint8_t *column, size_t ahead, float *to) { \
    single(type, blocks, row, row_size, column, ahead, to); \
  }
SINGLE(Q8_0)
SINGLE(Q4_0)
SINGLE(Q4_1)
SINGLE(Q5_0)
SINGLE(Q5_1)
SINGLE(Q4_K)
SINGLE(Q5_K)
SINGLE(Q6_K)
