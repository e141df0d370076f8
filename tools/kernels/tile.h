// Products of 4 rows with up to 16 columns: a lane for each column.
#pragma once
#include "rows.h"

#define GROUPS 4

/** 4 rows' values and scales, and what their products are added to. */
typedef struct {
  uint8_t values[4][512] __attribute__((aligned(16)));
  /** Of 16 values each, in a block of 256. */
  int16_t scales[4][16];
  v128_t scale[4], offset[4], sum[GROUPS][4];
} rows4;

/** Products of 32 values of 4 rows with 4 columns, or 8 where `b` is given, in 16 bits, are added to `s`. */
INLINE void dot_words(const uint8_t *values, const uint8_t *a, const uint8_t *b, v128_t s[8]) {
// Unrolled, browsers' compilers load all values first, and run out of registers.
#pragma clang loop unroll(disable)
  for (int pair = 0; pair < 16; pair++) {
    const v128_t at = wasm_i16x8_load8x8(a + 8 * pair), bt = b ? wasm_i16x8_load8x8(b + 8 * pair) : at;
    for (int r = 0; r < 4; r++) {
      const v128_t w = wasm_v128_load32_splat(values + r * 512 + 4 * pair);
      s[r] = dot_add(s[r], w, at);
      if (b) s[4 + r] = dot_add(s[4 + r], w, bt);
    }
  }
}

/** Of 4 values times 4: so many such sums fit 16 bits. */
INLINE int sums_in_16_bits(int type) {
  return type == Q4_0 || type == Q4_1 || type == Q4_K ? 8 : type == Q6_K ? 2 : 4;
}

/** The same, in bytes. @param scales of this part's halves; of the next row 16 further */
INLINE void dot_fours(int type, const uint8_t *values, const int16_t *scales, const uint8_t *a, const uint8_t *b, v128_t s[8]) {
  const int most = sums_in_16_bits(type);
#pragma clang loop unroll(full)
  for (int first = 0; first < 8; first += most) {
    v128_t t[8];
#pragma clang loop unroll(full)
    for (int four = first; four < first + most; four++) {
      const v128_t at = wasm_v128_load(a + 16 * four), bt = b ? wasm_v128_load(b + 16 * four) : at;
      for (int r = 0; r < 4; r++) {
        const v128_t w = wasm_v128_load32_splat(values + r * 512 + 4 * four);
        const v128_t p = dot_bytes(at, w);
        t[r] = four == first ? p : wasm_i16x8_add(t[r], p);
        if (!b) continue;
        const v128_t q = dot_bytes(bt, w);
        t[4 + r] = four == first ? q : wasm_i16x8_add(t[4 + r], q);
      }
    }
    for (int i = 0; i < (b ? 8 : 4); i++)
      s[i] = is_k(type) ? dot_add(s[i], t[i], wasm_v128_load16_splat(scales + (i & 3) * 16 + first / 4))
                        : wasm_i32x4_add(s[i], widened(t[i]));
  }
}

/** Adds the products of a block of 4 rows with one or two groups of 4 columns, a lane for each column, to the sums. */
INLINE void step(int type, int groups, rows4 *rows, int parts, const uint8_t *a, size_t group_size, const float *scales, const float *offsets, v128_t *sums) {
  v128_t s[8];
  for (int i = 0; i < 4 * groups; i++) s[i] = wasm_i32x4_const_splat(0);
  const uint8_t *values = rows->values[0];
  const int16_t *part_scales = rows->scales[0];
  const uint8_t *sums_of_a = a + 1024;
  do {
    const uint8_t *const b = groups == 2 ? a + group_size : 0;
    if (in_bytes(type)) dot_fours(type, values, part_scales, a, b, s);
    else dot_words(values, a, b, s);
    if (in_bytes(type) && type == Q6_K) {
      const v128_t at = wasm_v128_load(sums_of_a), bt = b ? wasm_v128_load(sums_of_a + group_size) : at;
      for (int r = 0; r < 4; r++) {
        const v128_t zero = wasm_i16x8_mul(wasm_v128_load32_splat(part_scales + 16 * r), wasm_i16x8_const_splat(-32));
        s[r] = dot_add(s[r], at, zero);
        if (b) s[4 + r] = dot_add(s[4 + r], bt, zero);
      }
      sums_of_a += 16;
    }
    a += 128, values += in_bytes(type) ? 32 : 64, part_scales += 2;
  } while (--parts);
  for (int k = 0; k < groups; k++) {
    const v128_t column_scale = wasm_v128_load(scales + 4 * k);
    for (int r = 0; r < 4; r++) {
      // Offsets are sums of the columns here, times what each weight is less.
      if (in_bytes(type) && (type == Q4_0 || type == Q5_0)) s[4 * k + r] = wasm_i32x4_sub(s[4 * k + r], wasm_v128_load(offsets + 4 * k));
      v128_t p = wasm_f32x4_convert_i32x4(s[4 * k + r]);
      if (type == Q4_0) p = wasm_f32x4_mul(wasm_f32x4_mul(p, rows->scale[r]), column_scale);
      else p = wasm_f32x4_mul(p, wasm_f32x4_mul(rows->scale[r], column_scale));
      if (has_offset(type)) p = wasm_f32x4_add(p, wasm_f32x4_mul(rows->offset[r], wasm_v128_load(offsets + 4 * k)));
      sums[4 * k + r] = wasm_f32x4_add(sums[4 * k + r], p);
    }
  }
}
#define STEP(type) \
  ALONE void step_##type(int groups, rows4 *rows, int parts, const uint8_t *a, size_t group_size, const float *scales, const float *offsets, v128_t *sums) { \
    if (groups == 2) step(type, 2, rows, parts, a, group_size, scales, offsets, sums); \
    else step(type, 1, rows, parts, a, group_size, scales, offsets, sums); \
  }
STEP(Q8_0)
STEP(Q4_0)
STEP(Q4_1)
#if RELAXED
STEP(Q5_0)
STEP(Q5_1)
STEP(Q4_K)
STEP(Q5_K)
STEP(Q6_K)
#else
// In 16 bits they differ in nothing.
#define step_Q5_0 step_Q8_0
#define step_Q5_1 step_Q4_1
#define step_Q4_K step_Q8_0
#define step_Q5_K step_Q8_0
#define step_Q6_K step_Q8_0
#endif

INLINE void unpack_rows(int type, const uint8_t *row, size_t row_size, rows4 *rows) {
  for (int r = 0; r < 4; r++)
#pragma clang loop unroll(disable)
    for (int part = 0; part < (is_k(type) ? 8 : 1); part++) {
      if (in_bytes(type)) {
        v128_t v[2];
        unpack_bytes(type, row + r * row_size, part, v);
        for (int i = 0; i < 2; i++) wasm_v128_store(rows->values[r] + 32 * part + 16 * i, v[i]);
        if (!is_k(type)) continue;
        int scales[2];
        scales_of_part(type, row + r * row_size, part, scales);
        rows->scales[r][2 * part] = (int16_t)scales[0];
        rows->scales[r][2 * part + 1] = (int16_t)scales[1];
      } else {
        v128_t v[4];
        unpack(type, row + r * row_size, part, v);
        for (int i = 0; i < 4; i++) wasm_v128_store(rows->values[r] + 64 * part + 16 * i, v[i]);
      }
    }
}

/** The most values in a row that are taken here: scales of columns lie on the stack. */
#define LONGEST 32768
#define SCALES (4 * GROUPS)

/** Of 4 columns' 32 bytes, interleaved by fours. */
INLINE v128_t sum_of_fours(const uint8_t *values) {
  v128_t sum = wasm_i16x8_const_splat(0);
  for (int four = 0; four < 8; four++) sum = wasm_i16x8_add(sum, wasm_i16x8_extadd_pairwise_i8x16(wasm_v128_load(values + 16 * four)));
  return widened(sum);
}

/**
 * Scales of up to 16 columns, block after block, and offsets: the blocks' own, or the columns' sums times what each weight in
 * bytes is less. Blocks of 256 have their scales as floats already.
 */
ALONE void scales_of(int type, size_t blocks, const uint8_t *columns, int groups, float *scales, float *offsets) {
  const size_t bytes = 4 * column_block(type);
  for (int g = 0; g < groups; g++)
    for (size_t b = 0; b < blocks; b++, columns += bytes) {
      const size_t at = b * SCALES + 4 * g;
      wasm_v128_store(scales + at, is_k(type) ? wasm_v128_load(columns) : floats_of(wasm_u32x4_load16x4(columns)));
      if (has_offset(type)) wasm_v128_store(offsets + at, floats_of(wasm_u32x4_load16x4(columns + 8)));
      else if (in_bytes(type) && !is_k(type))
        wasm_v128_store(offsets + at, wasm_i32x4_mul(sum_of_fours(columns + 8), wasm_i32x4_splat(zero_of(type))));
    }
}

INLINE void splat4(v128_t to[4], v128_t four) {
  to[0] = wasm_i32x4_shuffle(four, four, 0, 0, 0, 0);
  to[1] = wasm_i32x4_shuffle(four, four, 1, 1, 1, 1);
  to[2] = wasm_i32x4_shuffle(four, four, 2, 2, 2, 2);
  to[3] = wasm_i32x4_shuffle(four, four, 3, 3, 3, 3);
}

/** Subtracts what a block's parts are all shifted by, times the columns' sums. */
ALONE void subtract_offsets(const uint8_t *row, size_t row_size, const rows4 *rows, const uint8_t *column_sums, const float *scales, v128_t *sums) {
  for (int r = 0; r < 4; r++) {
    v128_t minus = wasm_i32x4_const_splat(0);
    for (int part = 0; part < 8; part++) {
      int s, o;
      scale_and_offset(row + r * row_size + 4, part, &s, &o);
      minus = dot_add(minus, wasm_i16x8_splat(o), wasm_v128_load(column_sums + 16 * part));
    }
    sums[r] = wasm_f32x4_sub(sums[r], wasm_f32x4_mul(wasm_f32x4_convert_i32x4(minus), wasm_f32x4_mul(rows->offset[r], wasm_v128_load(scales))));
  }
}

/**
 * 4 rows x up to 16 columns.
 * @param stride bytes between the results of two columns; 0: a row of `SCALES` results follows another
 */
ALONE void tile(int type, size_t blocks, const uint8_t *row, size_t row_size, const uint8_t *columns, int groups, const float *scales,
                const float *offsets, float *to, size_t stride) {
  const size_t bytes = row_block(type), column_bytes = 4 * column_block(type), group_size = blocks * column_bytes;
  const int parts = is_k(type) ? 8 : 1, head = is_k(type) || has_offset(type) ? 16 : 8;
  const bool shifted = type == Q4_K || type == Q5_K;
  rows4 rows;
  for (int g = 0; g < groups; g++)
    for (int r = 0; r < 4; r++) rows.sum[g][r] = wasm_f32x4_const_splat(0);
  for (size_t b = 0; b < blocks; b++, row += bytes, columns += column_bytes, scales += SCALES, offsets += SCALES) {
    switch (type) {
      case Q8_0: unpack_rows(Q8_0, row, row_size, &rows); break;
      case Q4_0: unpack_rows(Q4_0, row, row_size, &rows); break;
      case Q4_1: unpack_rows(Q4_1, row, row_size, &rows); break;
      case Q5_0: unpack_rows(Q5_0, row, row_size, &rows); break;
      case Q5_1: unpack_rows(Q5_1, row, row_size, &rows); break;
      case Q4_K: unpack_rows(Q4_K, row, row_size, &rows); break;
      case Q5_K: unpack_rows(Q5_K, row, row_size, &rows); break;
      default: unpack_rows(Q6_K, row, row_size, &rows); break;
    }
    if (has_offset(type) || shifted) {
      const v128_t words = four_words(row, row_size);
      splat4(rows.scale, floats_of(words));
      splat4(rows.offset, upper(words));
    } else splat4(rows.scale, four_halves(type == Q6_K ? row + 208 : row, row_size));
    const uint8_t *a = columns + head;
    for (int g = 0; g < groups; g += 2, a += 2 * group_size) {
      const int count = g + 1 < groups ? 2 : 1;
      switch (type) {
        case Q8_0: step_Q8_0(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q4_0: step_Q4_0(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q4_1: step_Q4_1(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q5_0: step_Q5_0(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q5_1: step_Q5_1(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q4_K: step_Q4_K(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        case Q5_K: step_Q5_K(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
        default: step_Q6_K(count, &rows, parts, a, group_size, scales + 4 * g, offsets + 4 * g, rows.sum[g]); break;
      }
    }
    if (shifted)
      for (int g = 0; g < groups; g++)
        subtract_offsets(row, row_size, &rows, columns + g * group_size + 1040, scales + 4 * g, rows.sum[g]);
  }
  for (int g = 0; g < groups; g++) {
    const v128_t *sum = rows.sum[g];
    if (stride == 0) {
      for (int r = 0; r < 4; r++) wasm_v128_store(to + SCALES * r + 4 * g, sum[r]);
      continue;
    }
    const v128_t r01 = wasm_i32x4_shuffle(sum[0], sum[1], 0, 4, 1, 5), r23 = wasm_i32x4_shuffle(sum[2], sum[3], 0, 4, 1, 5);
    const v128_t s01 = wasm_i32x4_shuffle(sum[0], sum[1], 2, 6, 3, 7), s23 = wasm_i32x4_shuffle(sum[2], sum[3], 2, 6, 3, 7);
    uint8_t *at = (uint8_t *)to + 4 * g * stride;
    wasm_v128_store(at, wasm_i64x2_shuffle(r01, r23, 0, 2));
    wasm_v128_store(at + stride, wasm_i64x2_shuffle(r01, r23, 1, 3));
    wasm_v128_store(at + 2 * stride, wasm_i64x2_shuffle(s01, s23, 0, 2));
    wasm_v128_store(at + 3 * stride, wasm_i64x2_shuffle(s01, s23, 1, 3));
  }
}
