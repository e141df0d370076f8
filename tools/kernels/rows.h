// Products of 4 rows of weights with columns, a lane for each row.
#pragma once
#include "columns.h"

/** Constants of a loop: `kept()`. */
typedef struct {
  half_reader half;
  /** The low 4 bits of bytes, and 1 in 16 bits. */
  v128_t nibble, ones;
  /** Of Q5_0 and Q5_1: for each four weights, their bits in a byte of fifth bits, and what such a bit adds. */
  v128_t lower, upper, sixteen;
  /** Of rows in Q8_0: the bits of their bytes that differ from what the processor multiplies. */
  v128_t flip;
} constants;

/** Lanes of four vectors, changed for vectors of lanes. */
INLINE void transpose(const v128_t from[4], v128_t to[4]) {
  const v128_t ab0 = wasm_i32x4_shuffle(from[0], from[1], 0, 4, 1, 5), ab1 = wasm_i32x4_shuffle(from[0], from[1], 2, 6, 3, 7);
  const v128_t cd0 = wasm_i32x4_shuffle(from[2], from[3], 0, 4, 1, 5), cd1 = wasm_i32x4_shuffle(from[2], from[3], 2, 6, 3, 7);
  to[0] = wasm_i64x2_shuffle(ab0, cd0, 0, 2);
  to[1] = wasm_i64x2_shuffle(ab0, cd0, 1, 3);
  to[2] = wasm_i64x2_shuffle(ab1, cd1, 0, 2);
  to[3] = wasm_i64x2_shuffle(ab1, cd1, 1, 3);
}
/** 16 bytes of each of 4 rows. */
INLINE void load_rows(const uint8_t *at, size_t row_size, v128_t to[4]) {
  for (int r = 0; r < 4; r++) to[r] = wasm_v128_load(at + r * row_size);
}
/** The same, by fours. */
INLINE void load_fours(const uint8_t *at, size_t row_size, v128_t to[4]) {
  v128_t rows[4];
  load_rows(at, row_size, rows);
  transpose(rows, to);
}
/** What 16 weights of each of 4 rows are loaded as: four of all rows to a vector, eight of two rows, or 16 of one. */
typedef enum { FOURS, PAIRS, ROWS } layout;
INLINE void load_weights(layout by, const uint8_t *at, size_t row_size, v128_t to[4]) {
  if (by == FOURS) load_fours(at, row_size, to);
  else load_rows(at, row_size, to);
  for (int i = 0; by == PAIRS && i < 4; i += 2) {
    const v128_t a = to[i], b = to[i + 1];
    to[i] = wasm_i64x2_shuffle(a, b, 0, 2);
    to[i + 1] = wasm_i64x2_shuffle(a, b, 1, 3);
  }
}
INLINE bool has_4_bits(int type) { return type == Q4_0 || type == Q4_1 || type == Q4_K; }
/**
 * The fastest where bytes are multiplied at once. Lanes of pairs and rows are added up afterwards. Q5's fifth bits are for fours;
 * Q6_K has a scale for 16 weights.
 */
INLINE layout layout_for(int type, int count) {
  if (type == Q5_0 || type == Q5_1) return FOURS;
  return count <= (has_4_bits(type) ? 4 : 1) ? ROWS : type == Q6_K ? FOURS : PAIRS;
}

/**
 * 32 weights of each of 4 rows as bytes, of which `zero_of()` is not subtracted.
 * @param part of a block of 256
 * @param high of Q5_K and Q6_K: the bytes with the highest bits of all parts, or of four
 */
INLINE void unpack(int type, layout by, const constants *k, const uint8_t *block, size_t row_size, int part, const v128_t *high, v128_t to[8]) {
  const v128_t mask = k->nibble;
  if (type == Q8_0) {
    load_weights(by, block + 2, row_size, to);
    load_weights(by, block + 18, row_size, to + 4);
  } else if (!is_k(type)) {
    load_weights(by, block + (type == Q4_0 ? 2 : type == Q4_1 ? 4 : type == Q5_0 ? 6 : 8), row_size, to);
    for (int i = 0; i < 4; i++) {
      to[4 + i] = wasm_v128_and(wasm_u16x8_shr(to[i], 4), mask);
      to[i] = wasm_v128_and(to[i], mask);
    }
    if (type == Q4_0 || type == Q4_1) return;
    const v128_t fifth = four_words(block + (type == Q5_0 ? 2 : 4), row_size);
#define FIFTH(i, byte, bit) \
  to[i] = wasm_v128_or(to[i], wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(wasm_i8x16_shuffle(fifth, fifth, byte, byte, byte, byte, byte + 4, byte + 4, \
    byte + 4, byte + 4, byte + 8, byte + 8, byte + 8, byte + 8, byte + 12, byte + 12, byte + 12, byte + 12), bit), bit), k->sixteen))
    FIFTH(0, 0, k->lower); FIFTH(1, 0, k->upper); FIFTH(2, 1, k->lower); FIFTH(3, 1, k->upper);
    FIFTH(4, 2, k->lower); FIFTH(5, 2, k->upper); FIFTH(6, 3, k->lower); FIFTH(7, 3, k->upper);
  } else if (type == Q6_K) {
    const int quarter = part & 3;
    for (int i = 0; i < 2; i++) {
      load_weights(by, block + 64 * (part >> 2) + 32 * (quarter & 1) + 16 * i, row_size, to + 4 * i);
      for (int j = 0; j < 4; j++) {
        const v128_t lower = wasm_v128_and(wasm_u16x8_shr(to[4 * i + j], quarter < 2 ? 0 : 4), mask);
        const v128_t upper = wasm_v128_and(wasm_u16x8_shr(high[4 * i + j], 2 * quarter), wasm_i8x16_const_splat(3));
        to[4 * i + j] = wasm_v128_or(lower, wasm_i16x8_shl(upper, 4));
      }
    }
  } else {
    for (int i = 0; i < 2; i++) {
      load_weights(by, block + (type == Q4_K ? 16 : 48) + 32 * (part >> 1) + 16 * i, row_size, to + 4 * i);
      for (int j = 4 * i; j < 4 * i + 4; j++) to[j] = wasm_v128_and(wasm_u16x8_shr(to[j], part & 1 ? 4 : 0), mask);
      if (type == Q4_K) continue;
      for (int j = 4 * i; j < 4 * i + 4; j++)
        to[j] = wasm_v128_or(to[j], wasm_i16x8_shl(wasm_v128_and(wasm_u16x8_shr(high[j], part), wasm_i8x16_const_splat(1)), 4));
    }
  }
}

/** Adds sums of 16 bits in pairs. */
INLINE v128_t widened(v128_t sums) { return wasm_i32x4_extadd_pairwise_i16x8(sums); }
INLINE v128_t dot_add(v128_t sum, v128_t a, v128_t b) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b)); }
/** Of 4 weights times 4 values: so many such sums fit 16 bits. */
INLINE int sums_in_16_bits(int type) {
  return type == Q4_0 || type == Q4_1 || type == Q4_K ? 8 : type == Q6_K ? 2 : 4;
}

/** A lane of a vector, in all four. Loading it from memory instead takes a check of the address each time. */
INLINE v128_t lane(v128_t x, int i) {
  switch (i) {
    case 0: return wasm_i32x4_shuffle(x, x, 0, 0, 0, 0);
    case 1: return wasm_i32x4_shuffle(x, x, 1, 1, 1, 1);
    case 2: return wasm_i32x4_shuffle(x, x, 2, 2, 2, 2);
    default: return wasm_i32x4_shuffle(x, x, 3, 3, 3, 3);
  }
}

/**
 * Keeps the order of the source: Clang loads all operands of a sum before its first product, and a browser's compiler, which
 * takes them in its order, then runs out of registers.
 */
INLINE v128_t in_turn(v128_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

/** Sums of each row's lanes, which fit 16 bits but for weights of 8. */
INLINE v128_t sums_of(int type, const constants *k, const v128_t rows[4]) {
  if (type == Q8_0) {
    v128_t lanes[4];
    transpose(rows, lanes);
    return wasm_i32x4_add(wasm_i32x4_add(lanes[0], lanes[1]), wasm_i32x4_add(lanes[2], lanes[3]));
  }
  const v128_t ab = wasm_i32x4_dot_i16x8(wasm_i16x8_narrow_i32x4(rows[0], rows[1]), k->ones);
  const v128_t cd = wasm_i32x4_dot_i16x8(wasm_i16x8_narrow_i32x4(rows[2], rows[3]), k->ones);
  if (type == Q4_0 || type == Q4_1 || type == Q4_K) return wasm_i32x4_dot_i16x8(wasm_i16x8_narrow_i32x4(ab, cd), k->ones);
  return wasm_i32x4_add(wasm_i32x4_shuffle(ab, cd, 0, 2, 4, 6), wasm_i32x4_shuffle(ab, cd, 1, 3, 5, 7));
}

/**
 * Adds the products of 16 bytes with a column's values. Where the processor has no instruction for it, sums of weights of up to 6
 * bits stay in 16 bits, which `ended()` makes 32.
 * @param is_first whether there is nothing to add to
 */
INLINE v128_t add_dots(int type, bool fast, const constants *k, v128_t sum, bool is_first, v128_t bytes, v128_t values, v128_t signs) {
  if (fast) return dot_bytes_add(values, bytes, is_first ? wasm_i32x4_const_splat(0) : sum);
  if (type != Q8_0) return is_first ? dot_bytes(values, bytes) : wasm_i16x8_add(sum, dot_bytes(values, bytes));
  const v128_t dots = wasm_i32x4_dot_i16x8(dot_bytes(wasm_v128_xor(bytes, signs), values), k->ones);
  return is_first ? dots : wasm_i32x4_add(sum, dots);
}
INLINE v128_t ended(int type, bool fast, const constants *k, v128_t sum) {
  return fast || type == Q8_0 ? sum : wasm_i32x4_dot_i16x8(sum, k->ones);
}
/** Products of `halves` times 16 bytes of 4 rows with a column's values. */
INLINE v128_t dot_rows(int type, bool fast, const constants *k, int halves, const v128_t *rows, const uint8_t *values) {
  v128_t sums[4];
  for (int half = 0; half < halves; half++) {
    const v128_t x = wasm_v128_load(values + 16 * half), signs = by_signs(type, fast) ? wasm_v128_load(values + 32 + 16 * half) : x;
    for (int r = 0; r < 4; r++) sums[r] = add_dots(type, fast, k, sums[r], half == 0, rows[4 * half + r], x, signs);
  }
  for (int r = 0; r < 4; r++) sums[r] = ended(type, fast, k, sums[r]);
  return sums_of(type, k, sums);
}
/** Products of 32 weights of 4 rows, in pairs, with a column's values. */
INLINE v128_t dot_pairs(int type, bool fast, const constants *k, const v128_t *pairs, const uint8_t *values) {
  v128_t sums[2];
  for (int i = 0; i < 4; i++) {
    const v128_t x = wasm_v128_load64_splat(values + 8 * i), signs = by_signs(type, fast) ? wasm_v128_load64_splat(values + 32 + 8 * i) : x;
    for (int j = 0; j < 2; j++) sums[j] = in_turn(add_dots(type, fast, k, sums[j], i == 0, pairs[4 * (i >> 1) + 2 * j + (i & 1)], x, signs));
  }
  for (int j = 0; j < 2; j++) sums[j] = ended(type, fast, k, sums[j]);
  if (has_4_bits(type)) return wasm_i32x4_dot_i16x8(wasm_i16x8_narrow_i32x4(sums[0], sums[1]), k->ones);
  return wasm_i32x4_add(wasm_i32x4_shuffle(sums[0], sums[1], 0, 2, 4, 6), wasm_i32x4_shuffle(sums[0], sums[1], 1, 3, 5, 7));
}

/** Adds the products of four fours, in bytes, with 16 of a column's values to `sum`. */
INLINE v128_t dot_fours(int type, bool fast, const v128_t fours[4], const uint8_t *values, v128_t sum) {
  const v128_t x = wasm_v128_load(values);
  if (fast) {
    for (int i = 0; i < 4; i++) sum = dot_bytes_add(lane(x, i), fours[i], sum);
    return sum;
  }
  const int most = sums_in_16_bits(type);
  for (int i = 0; i < 4; i += most) {
    v128_t t = dot_bytes(lane(x, i), fours[i]);
    for (int j = i + 1; j < i + most && j < 4; j++) t = wasm_i16x8_add(t, dot_bytes(lane(x, j), fours[j]));
    sum = wasm_i32x4_add(sum, widened(t));
  }
  return sum;
}

/** Adds the products of `halves` times four fours, or of as many bytes of rows, with a column's values to `sum`. */
INLINE v128_t dot_weights(int type, bool fast, layout by, const constants *k, int halves, const v128_t *weights, const uint8_t *values, v128_t sum) {
  if (by == PAIRS) return wasm_i32x4_add(sum, dot_pairs(type, fast, k, weights, values));
  if (by == ROWS) return wasm_i32x4_add(sum, dot_rows(type, fast, k, halves, weights, values));
  sum = dot_fours(type, fast, weights, values, sum);
  return halves == 1 ? sum : wasm_i32x4_add(sum, dot_fours(type, fast, weights + 4, values + 16, wasm_i32x4_const_splat(0)));
}

/** Four fours in 16 bits: the first and the third of each, then the others. */
typedef struct {
  v128_t even[4], odd[4];
} words;

INLINE words words_of(int type, const v128_t fours[4]) {
  words w;
  for (int i = 0; i < 4; i++) {
    w.even[i] = type == Q8_0 ? wasm_i16x8_shr(wasm_i16x8_shl(fours[i], 8), 8) : wasm_v128_and(fours[i], wasm_i16x8_const_splat(255));
    w.odd[i] = type == Q8_0 ? wasm_i16x8_shr(fours[i], 8) : wasm_u16x8_shr(fours[i], 8);
  }
  return w;
}
INLINE v128_t dot_words(const words *w, const uint8_t *values, v128_t sum) {
  const v128_t even = wasm_v128_load(values), odd = wasm_v128_load(values + 16);
  for (int i = 0; i < 4; i++) {
    sum = dot_add(sum, w->even[i], lane(even, i));
    sum = dot_add(sum, w->odd[i], lane(odd, i));
  }
  return sum;
}

/** Products of 32 bytes of 4 rows with one column, whose words are in order. */
INLINE v128_t dot_single(const uint8_t *bytes, size_t row_size, const uint8_t *values) {
  v128_t sums[4];
  for (int r = 0; r < 4; r++) {
    sums[r] = wasm_i32x4_const_splat(0);
    for (int i = 0; i < 4; i++) sums[r] = dot_add(sums[r], wasm_i16x8_load8x8(bytes + r * row_size + 8 * i), wasm_v128_load(values + 16 * i));
  }
  return sums_of(Q8_0, 0, sums);
}
/** The same of `halves` times 16 bytes of 4 rows, without signs. */
INLINE v128_t dot_in_order(int halves, const v128_t *rows, const uint8_t *values) {
  v128_t sums[4];
  for (int r = 0; r < 4; r++) {
    sums[r] = wasm_i32x4_const_splat(0);
    for (int i = 0; i < halves; i++) {
      sums[r] = dot_add(sums[r], wasm_u16x8_extend_low_u8x16(rows[4 * i + r]), wasm_v128_load(values + 32 * i));
      sums[r] = dot_add(sums[r], wasm_u16x8_extend_high_u8x16(rows[4 * i + r]), wasm_v128_load(values + 32 * i + 16));
    }
  }
  return sums_of(Q8_0, 0, sums);
}

/** Adds a block's product to `sum` as ggml does. */
INLINE v128_t add_up(int type, v128_t sum, v128_t product, v128_t row_scale, v128_t column_scale) {
  const v128_t p = wasm_f32x4_convert_i32x4(product);
  if (type == Q4_0) return wasm_f32x4_add(sum, wasm_f32x4_mul(wasm_f32x4_mul(p, row_scale), column_scale));
  return wasm_f32x4_add(sum, wasm_f32x4_mul(p, wasm_f32x4_mul(row_scale, column_scale)));
}

/** Adds the products of a block of 32 of 4 rows with the columns to the sums. */
INLINE void step32(int type, bool fast, layout by, const constants *k, const uint8_t *block, size_t row_size, const uint8_t *x, int count, v128_t *sums) {
  if (type == Q8_0 && in_order(type, count)) {
    const v128_t product = dot_single(block + 2, row_size, x + 8);
    sums[0] = add_up(type, sums[0], product, low_floats(&k->half, true, four_halves(block, row_size)), wasm_v128_load32_splat(x));
    return;
  }
  const bool ordered = type != Q8_0 && in_order(type, count);
  v128_t fours[8], halves[COLUMNS];
  unpack(type, by, k, block, row_size, 0, 0, fours);
  if (type == Q8_0 && fast)
    for (int i = 0; i < 8; i++) fours[i] = wasm_v128_xor(fours[i], k->flip);
  words w;
  if (!RELAXED && !ordered) {
    // By halves, whose words fit the processor's registers.
    w = words_of(type, fours);
#pragma clang loop unroll(disable)
    for (int c = 0; c < count; c++)
      halves[c] = dot_words(&w, x + c * laid_block(type, fast) + 8, has_start(type) ? wasm_v128_load32_splat(x + c * laid_block(type, fast) + 4) : wasm_i32x4_const_splat(0));
    w = words_of(type, fours + 4);
  }
  const v128_t ends = has_offset(type) ? four_words(block, row_size) : four_halves(block, row_size);
  const v128_t scale = low_floats(&k->half, type == Q8_0, ends), offset = has_offset(type) ? high_floats(&k->half, false, ends) : scale;
#pragma clang loop unroll(disable)
  for (int c = 0; c < count; c++, x += laid_block(type, fast)) {
    v128_t product, head = scale;
    if (has_start(type)) head = wasm_v128_load(x);
    if (RELAXED) {
      const v128_t start = has_start(type) ? lane(head, 1) : wasm_i32x4_const_splat(0);
      product = in_turn(dot_weights(type, fast, by, k, 2, fours, x + 8, start));
    } else if (ordered) {
      product = dot_in_order(2, fours, x + 8);
      if (has_start(type)) product = wasm_i32x4_add(product, lane(head, 1));
    } else product = dot_words(&w, x + 40, halves[c]);
    if (!has_start(type)) head = wasm_v128_load(x);
    if (has_offset(type)) {
      const v128_t p = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(product), wasm_f32x4_mul(scale, lane(head, 0)));
      sums[c] = wasm_f32x4_add(sums[c], wasm_f32x4_add(p, wasm_f32x4_mul(offset, lane(head, 1))));
    } else sums[c] = add_up(type, sums[c], product, scale, lane(head, 0));
  }
}

/** The same, of a block of 256. */
INLINE void step256(int type, bool fast, layout by, const constants *k, const uint8_t *block, size_t row_size, const uint8_t *x, int count, v128_t *sums) {
  // By rows: the scales and offsets of four parts each, in bytes.
  v128_t head[4], scales[4], offsets[2];
  load_fours(type == Q6_K ? block + 192 : block, row_size, head);
  if (type == Q6_K) for (int i = 0; i < 4; i++) scales[i] = head[i];
  else {
    const v128_t six = wasm_i8x16_const_splat(63), four = wasm_i8x16_const_splat(15), two = wasm_i8x16_const_splat(48);
    scales[0] = wasm_v128_and(head[1], six);
    offsets[0] = wasm_v128_and(head[2], six);
    scales[1] = wasm_v128_or(wasm_v128_and(head[3], four), wasm_v128_and(wasm_u32x4_shr(head[1], 2), two));
    offsets[1] = wasm_v128_or(wasm_v128_and(wasm_u32x4_shr(head[3], 4), four), wasm_v128_and(wasm_u32x4_shr(head[2], 2), two));
  }
  v128_t totals[COLUMNS], high[8];
  for (int c = 0; c < count; c++) totals[c] = wasm_i32x4_const_splat(0);
#pragma clang loop unroll(disable)
  for (int part = 0; part < 8; part++) {
    v128_t fours[8], of_half[2];
    if (type == Q6_K ? (part & 3) == 0 : type == Q5_K && part == 0)
      for (int i = 0; i < 2; i++) load_weights(by, block + (type == Q6_K ? 128 + 8 * part : 16) + 16 * i, row_size, high + 4 * i);
    unpack(type, by, k, block, row_size, part, high, fours);
    if (type == Q6_K) {
      const v128_t pair = wasm_i32x4_shr(wasm_i32x4_shl(scales[part >> 1], 16 * (~part & 1)), 16);
      of_half[0] = wasm_i32x4_shr(wasm_i32x4_shl(pair, 24), 24);
      of_half[1] = wasm_i32x4_shr(pair, 8);
    } else of_half[0] = of_half[1] = wasm_v128_and(wasm_u32x4_shr(scales[part >> 2], 8 * (part & 3)), wasm_i32x4_const_splat(255));
    const size_t starts = type == Q6_K ? 8 : 0;
    const uint8_t *values = x + head_bytes(type) + part * part_bytes(type, fast) + starts;
    const v128_t none = wasm_i32x4_const_splat(0);
    const bool ordered = in_order(type, count);
    if ((RELAXED || ordered) && type != Q6_K) {
#pragma clang loop unroll(disable)
      for (int c = 0; c < count; c++, values += laid_block(type, fast)) {
        const v128_t sum = ordered ? dot_in_order(2, fours, values) : dot_weights(type, fast, by, k, 2, fours, values, none);
        totals[c] = wasm_i32x4_add(totals[c], wasm_i32x4_mul(sum, of_half[0]));
      }
      continue;
    }
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; half++) {
      const words w = words_of(type, fours + 4 * half);
      const uint8_t *at = values + half * (RELAXED ? 16 : 32), *start = values - starts + 4 * half;
#pragma clang loop unroll(disable)
      for (int c = 0; c < count; c++, at += laid_block(type, fast), start += laid_block(type, fast)) {
        v128_t sum = starts ? wasm_v128_load32_splat(start) : none;
        sum = ordered ? wasm_i32x4_add(sum, dot_in_order(1, fours + 4 * half, at)) : RELAXED ? dot_weights(type, fast, by, k, 1, fours + 4 * half, at, sum) : dot_words(&w, at, sum);
        totals[c] = wasm_i32x4_add(totals[c], wasm_i32x4_mul(sum, of_half[half]));
      }
    }
  }
  const v128_t halves = type == Q6_K ? four_halves(block + 208, row_size) : head[0];
  const v128_t scale = low_floats(&k->half, true, halves), offset = high_floats(&k->half, true, halves);
  v128_t pairs[4];
  if (has_offsets(type)) {
    for (int i = 0; i < 2; i++) {
      pairs[2 * i] = wasm_u16x8_extend_low_u8x16(wasm_i8x16_shuffle(offsets[i], offsets[i], 0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0));
      pairs[2 * i + 1] = wasm_u16x8_extend_low_u8x16(wasm_i8x16_shuffle(offsets[i], offsets[i], 2, 3, 6, 7, 10, 11, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0));
    }
  }
#pragma clang loop unroll(disable)
  for (int c = 0; c < count; c++, x += laid_block(type, fast)) {
    const v128_t column_scale = wasm_v128_load32_splat(x);
    sums[c] = add_up(type, sums[c], totals[c], scale, column_scale);
    if (!has_offsets(type)) continue;
    v128_t minus = wasm_i32x4_const_splat(0);
    for (int i = 0; i < 4; i++) minus = dot_add(minus, pairs[i], wasm_v128_load32_splat(x + 4 + 4 * i));
    sums[c] = wasm_f32x4_sub(sums[c], wasm_f32x4_mul(wasm_f32x4_convert_i32x4(minus), wasm_f32x4_mul(offset, column_scale)));
  }
}

/** Rows, columns that are laid out, and where their products go. */
typedef struct {
  const uint8_t *rows, *columns;
  size_t row_size, blocks;
  int count;
  /** Whether the products are added to what is there: that of the blocks before. */
  bool adds;
  /** Of the first row and column, with the bytes to the next column. */
  uint8_t *to;
  size_t stride;
  v128_t flip;
  /** A zero that no compiler knows. */
  v128_t zero;
  /** Of the last four rows, where they overlap with those before: what is there has this step's products already. */
  v128_t *overlapping;
} product;

/**
 * Reading the next 4 rows in order meanwhile lets the processor fetch them in time. For a single column and rows shorter than this
 * many bytes it often does not: so many bytes are read at once.
 */
#define SHORT 400
#define AT_ONCE 32768

/** Rows from `first` up to before `end`, at least 4 of them: the last four may overlap with those before. */
INLINE void multiply_rows(int type, bool fast, layout by, int count, const product *p, int64_t first, int64_t end) {
  const size_t bytes = row_block(type), row_size = p->row_size;
  const constants k = {half_reader_of(p->zero), kept(p->zero, 0x0f0f0f0f), kept(p->zero, 0x00010001),
                       kept(p->zero, 0x08040201), kept(p->zero, (int)0x80402010), kept(p->zero, 0x10101010), p->flip};
  const uint8_t *const last = p->rows + end * row_size;
  // Only whole rows follow each other. Of parts of rows, and of one head's keys, `last` is beyond the end, perhaps of the memory.
  const bool at_once = count == 1 && row_size < SHORT && p->blocks * bytes == row_size;
  const uint8_t *fetched = p->rows + first * row_size;
  for (int64_t i = first; i < end; i += 4) {
    const bool overlaps = i + 4 > end;
    const int64_t r = overlaps ? end - 4 : i;
    const uint8_t *row = p->rows + r * row_size, *x = p->columns, *next = row + (r + 8 <= end ? 4 * row_size : 0);
    if (at_once && fetched < row + 4 * row_size) {
      const uint8_t *const stop = last - row < AT_ONCE ? last : row + AT_ONCE;
      for (; fetched < stop; fetched += 64) (void)*(const volatile uint8_t *)fetched;
    }
    uint8_t *const to = p->to + 4 * r;
    v128_t sums[COLUMNS];
    for (int c = 0; c < count; c++)
      sums[c] = !p->adds ? wasm_f32x4_const_splat(0) : overlaps ? p->overlapping[c] : wasm_v128_load(to + c * p->stride);
    for (size_t b = 0; b < p->blocks; b++, row += bytes, next += 4 * bytes, x += count * laid_block(type, fast)) {
      for (size_t at = 0; !at_once && at < 4 * bytes; at += 64) (void)*(const volatile uint8_t *)(next + at);
      if (is_k(type)) step256(type, fast, by, &k, row, row_size, x, count, sums);
      else step32(type, fast, by, &k, row, row_size, x, count, sums);
    }
    for (int c = 0; c < count; c++) {
      wasm_v128_store(to + c * p->stride, sums[c]);
      if (overlaps) p->overlapping[c] = sums[c];
    }
  }
}
#define MULTIPLY(type) \
  ALONE void rows_##type(bool fast, const product *p, int64_t first, int64_t end) { \
    if (fast && p->count == 1) multiply_rows(type, RELAXED, layout_for(type, 1), 1, p, first, end); \
    else if (fast && has_4_bits(type) && p->count <= 4) multiply_rows(type, RELAXED, layout_for(type, 4), p->count, p, first, end); \
    else if (fast) multiply_rows(type, RELAXED, layout_for(type, COLUMNS), p->count, p, first, end); \
    else if (RELAXED && p->count == 1) multiply_rows(type, false, layout_for(type, 1), 1, p, first, end); \
    else if (RELAXED) multiply_rows(type, false, layout_for(type, COLUMNS), p->count, p, first, end); \
    else if (in_order(type, p->count)) multiply_rows(type, false, ROWS, 1, p, first, end); \
    else multiply_rows(type, false, FOURS, p->count, p, first, end); \
  }
MULTIPLY(Q8_0)
MULTIPLY(Q4_0)
MULTIPLY(Q4_1)
MULTIPLY(Q5_0)
MULTIPLY(Q5_1)
MULTIPLY(Q4_K)
MULTIPLY(Q5_K)
MULTIPLY(Q6_K)
