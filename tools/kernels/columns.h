// Columns of floats, quantized to Q8_0, Q8_1 or Q8_K as llama.cpp does, bit by bit, and then laid out for the products.
#pragma once
#include "half.h"

/** The weights of 8 bits that the processor multiplies and adds at once. */
typedef enum { NO_DOT, SIGNED, UNSIGNED } fast_dot;

/** Relaxed SIMD multiplies bytes, 16 at a time; without it, values are extended to 16 bits first. */
#ifdef __wasm_relaxed_simd__
#define RELAXED true
/**
 * Sums of two products each. One operand must have 7 bits: processors differ in what they do with the eighth. The sums must fit
 * 16 bits, for the same reason.
 */
INLINE v128_t dot_bytes(v128_t values, v128_t weights) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(values, weights); }
/** Adds sums of four products each. The same holds. */
INLINE v128_t dot_bytes_add(v128_t values, v128_t weights, v128_t sum) {
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(values, weights, sum);
}
/**
 * Whether the processor has one instruction for `dot_bytes_add()`, and takes weights of 8 bits, with or without a sign. Other
 * processors saturate sums of two products. Node 20 computes it wrong.
 */
INLINE fast_dot find_fast_dot(void) {
  const v128_t sum = dot_bytes_add(wasm_i8x16_const_splat(127), wasm_i8x16_const_splat(-1), wasm_i32x4_const_splat(1));
  const int first = wasm_i32x4_extract_lane(sum, 0);
  return first == 1 + 4 * 127 * 255 ? UNSIGNED : first == 1 - 4 * 127 ? SIGNED : NO_DOT;
}
#else
#define RELAXED false
INLINE v128_t dot_bytes(v128_t values, v128_t weights) { return wasm_v128_and(values, weights); }
INLINE v128_t dot_bytes_add(v128_t values, v128_t weights, v128_t sum) { return wasm_v128_and(wasm_v128_and(values, weights), sum); }
INLINE fast_dot find_fast_dot(void) { return NO_DOT; }
#endif

/** Bits of bytes with a sign that the processor takes without: they become larger by 128. */
INLINE v128_t flip_of(fast_dot fast) { return wasm_i8x16_splat(fast == UNSIGNED ? -128 : 0); }

enum { F32 = 0, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14 };

INLINE bool is_k(int type) { return type >= Q4_K; }
/**
 * Whether a column's values are laid out without their signs, in 7 bits, and then masks of those below 0. A mask inverts the bits of
 * a weight of 8 bits, which is -1 less the weight: for each value below 0, its product lacks the value without its sign.
 */
INLINE bool by_signs(int type, bool fast) { return RELAXED && !fast && type == Q8_0; }
INLINE bool has_offset(int type) { return type == Q4_1 || type == Q5_1; }
/** Whether the parts of a block of 256 have offsets. */
INLINE bool has_offsets(int type) { return type == Q4_K || type == Q5_K; }
INLINE size_t quants_in_block(int type) { return is_k(type) ? 256 : 32; }
/** What each unpacked weight is too large by: half of its range, where a block has no offset. */
INLINE int zero_of(int type, fast_dot fast) {
  return type == Q4_0 ? 8 : type == Q5_0 ? 16 : type == Q6_K ? 32 : type == Q8_0 && fast == UNSIGNED ? 128 : 0;
}
/** Whether a product begins with an integer: less what `zero_of()` adds, and what `by_signs()` leaves out. */
INLINE bool has_start(int type) { return type == Q4_0 || type == Q5_0 || (type == Q8_0 && RELAXED); }
/** Bytes of a block of a column: Q8_0, Q8_1 or Q8_K. */
INLINE size_t column_block(int type) { return is_k(type) ? 292 : has_offset(type) ? 36 : 34; }
INLINE size_t row_block(int type) {
  switch (type) {
    case Q8_0: return 34;
    case Q4_0: return 18;
    case Q4_1: return 20;
    case Q5_0: return 22;
    case Q5_1: return 24;
    case Q4_K: return 144;
    case Q5_K: return 176;
    default: return 210;
  }
}

// ---- quantizing ---------------------------------------------------------------------------------------------------------
/** Away from zero where it is a tie, as `roundf`: what is added is the float before 0.5. */
INLINE v128_t rounded(v128_t x) {
  const v128_t half = wasm_v128_or(wasm_v128_and(x, wasm_f32x4_const_splat(-0.0f)), wasm_f32x4_const_splat(0x1.fffffep-2f));
  return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(x, half));
}

/** 32 floats as bytes, in two vectors. @returns the scale */
INLINE float quantize32(const float *x, v128_t bytes[2]) {
  v128_t v[8], most = wasm_f32x4_const_splat(0);
  for (int i = 0; i < 8; i++) {
    v[i] = wasm_v128_load(x + 4 * i);
    most = wasm_f32x4_pmax(most, wasm_f32x4_abs(v[i]));
  }
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
  const float scale = wasm_f32x4_extract_lane(most, 0) / 127.0f;
  const v128_t inverse = wasm_f32x4_splat(scale != 0 ? 1.0f / scale : 0.0f);
  for (int i = 0; i < 2; i++) {
    v128_t w[4];
    for (int j = 0; j < 4; j++) w[j] = rounded(wasm_f32x4_mul(v[4 * i + j], inverse));
    bytes[i] = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(w[0], w[1]), wasm_i16x8_narrow_i32x4(w[2], w[3]));
  }
  return scale;
}

INLINE int sum_of(v128_t bytes) {
  const v128_t sum = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extadd_pairwise_i8x16(bytes));
  return wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) + wasm_i32x4_extract_lane(sum, 2) +
         wasm_i32x4_extract_lane(sum, 3);
}

INLINE void quantize_block32(const uint8_t *x, uint8_t *to, bool offset) {
  v128_t bytes[2];
  const float scale = quantize32((const float *)x, bytes);
  ((uint16_t *)to)[0] = half_of(scale);
  if (offset) ((uint16_t *)to)[1] = half_of((float)(sum_of(bytes[0]) + sum_of(bytes[1])) * scale);
  to += offset ? 4 : 2;
  wasm_v128_store(to, bytes[0]);
  wasm_v128_store(to + 16, bytes[1]);
}

/** Takes the place of quantize_row_q8_0_ref, for keys and values of the cache. */
EXPORT(quantize_row) void quantize_row(const float *x, uint8_t *to, int64_t count) {
  for (; count > 0; count -= 32, x += 32, to += 34) quantize_block32((const uint8_t *)x, to, false);
}

static void quantize(int type, const tensor *src, uint8_t *to, int64_t first, int64_t end) {
  const size_t quants = quants_in_block(type), bytes = column_block(type);
  const int64_t blocks = src->ne[0] / quants;
  for (int64_t c = 0; c < src->ne[1]; c++)
    for (int64_t b = first; b < end; b++) {
      const uint8_t *x = src->data + c * src->nb[1] + b * quants * 4;
      uint8_t *at = to + (c * blocks + b) * bytes;
      if (is_k(type)) quantize_row_q8_K((const float *)x, at, 256);
      else quantize_block32(x, at, has_offset(type));
    }
}

// ---- laying out ---------------------------------------------------------------------------------------------------------
/** The most columns that products are made with at once. */
#define COLUMNS 16
/** Bytes of columns that are laid out at once: as many of their blocks as fit. They stay in the processor's first cache. */
#define LAID_OUT 24576

/** Before a block: its scale, and an offset (float) or what its product begins with (integer); of 256, four pairs of sums. */
INLINE size_t head_bytes(int type) { return is_k(type) ? 20 : 8; }
/** 32 values: as bytes, or in 16 bits each. In Q6_K, what each half's product begins with comes first. */
INLINE size_t part_bytes(int type, bool fast) { return (type == Q6_K ? 8 : 0) + (RELAXED && !by_signs(type, fast) ? 32 : 64); }
INLINE size_t laid_block(int type, bool fast) { return head_bytes(type) + (is_k(type) ? 8 : 1) * part_bytes(type, fast); }

/** Whether words stay in their order, and weights are taken by rows: times one column. Q5's fifth bits are for fours. */
INLINE bool in_order(int type, int count) { return !RELAXED && type != Q5_0 && type != Q5_1 && count == 1; }

INLINE void lay_values(int type, bool fast, int count, const uint8_t *values, uint8_t *to) {
  for (int i = 0; i < 2; i++) {
    const v128_t x = wasm_v128_load(values + 16 * i);
    if (by_signs(type, fast)) {
      wasm_v128_store(to + 16 * i, wasm_i8x16_abs(x));
      wasm_v128_store(to + 32 + 16 * i, wasm_i8x16_lt(x, wasm_i8x16_const_splat(0)));
    } else if (RELAXED) wasm_v128_store(to + 16 * i, x);
    else if (in_order(type, count)) {
      wasm_v128_store(to + 32 * i, wasm_i16x8_extend_low_i8x16(x));
      wasm_v128_store(to + 32 * i + 16, wasm_i16x8_extend_high_i8x16(x));
    } else {
      // Of each four, the first and the third, then the others.
      wasm_v128_store(to + 32 * i, wasm_i16x8_shr(wasm_i16x8_shl(x, 8), 8));
      wasm_v128_store(to + 32 * i + 16, wasm_i16x8_shr(x, 8));
    }
  }
}

INLINE void lay_block(int type, fast_dot fast, int count, const uint8_t *block, uint8_t *to) {
  const v128_t none = wasm_i8x16_const_splat(0);
  float *const head = (float *)to;
  int32_t *const start = (int32_t *)to + 1;
  if (!is_k(type)) {
    const uint8_t *values = block + (has_offset(type) ? 4 : 2);
    head[0] = float_of(block);
    if (has_offset(type)) head[1] = float_of(block + 2);
    else if (has_start(type)) {
      const v128_t low = wasm_v128_load(values), high = wasm_v128_load(values + 16);
      if (by_signs(type, fast)) *start = -sum_of(wasm_i8x16_min(low, none)) - sum_of(wasm_i8x16_min(high, none));
      else *start = -zero_of(type, fast) * (sum_of(low) + sum_of(high));
    }
    lay_values(type, fast, count, values, to + 8);
    return;
  }
  head[0] = *(const float *)block;
  const int16_t *const sums = (const int16_t *)(block + 260);
  if (has_offsets(type))
    for (int part = 0; part < 8; part++) ((int16_t *)start)[part] = (int16_t)(sums[2 * part] + sums[2 * part + 1]);
  uint8_t *at = to + head_bytes(type);
  for (int part = 0; part < 8; part++, at += part_bytes(type, fast)) {
    if (type == Q6_K)
      for (int i = 0; i < 2; i++) ((int32_t *)at)[i] = -zero_of(type, fast) * sums[2 * part + i];
    lay_values(type, fast, count, block + 4 + 32 * part, at + (type == Q6_K ? 8 : 0));
  }
}

/** Lays blocks out, those of all columns in turn. @param size bytes between two columns */
ALONE void lay_out(int type, fast_dot fast, const uint8_t *columns, size_t size, int count, size_t blocks, uint8_t *to) {
  for (size_t b = 0; b < blocks; b++)
    for (int c = 0; c < count; c++, to += laid_block(type, fast)) lay_block(type, fast, count, columns + c * size + b * column_block(type), to);
}
