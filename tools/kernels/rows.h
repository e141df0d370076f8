// Blocks of weights, unpacked to 8 or 16 bits a value.
#pragma once
#include "columns.h"

INLINE void extend(v128_t low, v128_t high, v128_t to[4]) {
  to[0] = wasm_i16x8_extend_low_i8x16(low);
  to[1] = wasm_i16x8_extend_high_i8x16(low);
  to[2] = wasm_i16x8_extend_low_i8x16(high);
  to[3] = wasm_i16x8_extend_high_i8x16(high);
}
/** Ones in the bytes whose bits are set. */
INLINE v128_t bits_of(uint16_t bits) {
  const v128_t both = wasm_i8x16_shuffle(wasm_i16x8_splat(bits), wasm_i16x8_splat(bits), 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const v128_t bit = wasm_u8x16_const(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128);
  return wasm_i8x16_eq(wasm_v128_and(both, bit), bit);
}
INLINE void scale_and_offset(const uint8_t *scales, int part, int *scale, int *offset) {
  if (part < 4) {
    *scale = scales[part] & 63;
    *offset = scales[part + 4] & 63;
  } else {
    *scale = (scales[part + 4] & 15) | (scales[part - 4] >> 6) << 4;
    *offset = scales[part + 4] >> 4 | (scales[part] >> 6) << 4;
  }
}

/** What is subtracted from each unpacked byte: half of its range, where a block has no offset. */
INLINE int zero_of(int type) { return type == Q4_0 ? 8 : type == Q5_0 ? 16 : type == Q6_K ? 32 : 0; }

/** 32 values of a block as bytes, of which `zero_of()` is not subtracted; not of Q8_0. @param part of a block of 256 */
INLINE void unpack_bytes(int type, const uint8_t *block, int part, v128_t to[2]) {
  const v128_t mask = wasm_i8x16_const_splat(15);
  if (!is_k(type)) {
    const v128_t both = wasm_v128_load(block + (type == Q4_0 ? 2 : type == Q4_1 ? 4 : type == Q5_0 ? 6 : 8));
    to[0] = wasm_v128_and(both, mask);
    to[1] = wasm_u8x16_shr(both, 4);
    if (type == Q5_0 || type == Q5_1) {
      const uint8_t *fifth = block + (type == Q5_0 ? 2 : 4);
      const v128_t sixteen = wasm_i8x16_const_splat(16);
      to[0] = wasm_v128_or(to[0], wasm_v128_and(bits_of(*(const uint16_t *)fifth), sixteen));
      to[1] = wasm_v128_or(to[1], wasm_v128_and(bits_of(*(const uint16_t *)(fifth + 2)), sixteen));
    }
  } else if (type == Q6_K) {
    const int k = part & 3;
    const uint8_t *fours = block + 64 * (part >> 2) + 32 * (k & 1), *twos = block + 128 + 32 * (part >> 2);
    for (int i = 0; i < 2; i++) {
      const v128_t four = wasm_v128_load(fours + 16 * i), two = wasm_v128_load(twos + 16 * i);
      const v128_t upper = wasm_i8x16_shl(wasm_v128_and(wasm_u8x16_shr(two, 2 * k), wasm_i8x16_const_splat(3)), 4);
      const v128_t lower = k < 2 ? wasm_v128_and(four, mask) : wasm_u8x16_shr(four, 4);
      to[i] = wasm_v128_or(lower, upper);
    }
  } else {
    const uint8_t *fours = block + (type == Q4_K ? 16 : 48) + 32 * (part >> 1);
    for (int i = 0; i < 2; i++) {
      const v128_t four = wasm_v128_load(fours + 16 * i);
      to[i] = part & 1 ? wasm_u8x16_shr(four, 4) : wasm_v128_and(four, mask);
      if (type == Q5_K) {
        const v128_t bit = wasm_i8x16_splat(1 << part), fifth = wasm_v128_load(block + 16 + 16 * i);
        to[i] = wasm_v128_or(to[i], wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(fifth, bit), bit), wasm_i8x16_const_splat(16)));
      }
    }
  }
}

/** The scales of 16 values each, of a part of a block of 256. */
INLINE void scales_of_part(int type, const uint8_t *block, int part, int to[2]) {
  if (type == Q6_K) {
    const int8_t *scales = (const int8_t *)block + 192 + 2 * part;
    to[0] = scales[0];
    to[1] = scales[1];
  } else {
    int offset;
    scale_and_offset(block + 4, part, to, &offset);
    to[1] = to[0];
  }
}

/** 32 values of a block in 16 bits each, times the part's own scale. @param part of a block of 256 */
INLINE void unpack(int type, const uint8_t *block, int part, v128_t to[4]) {
  if (type == Q8_0) {
    for (int i = 0; i < 4; i++) to[i] = wasm_i16x8_load8x8(block + 2 + 8 * i);
    return;
  }
  v128_t v[2];
  unpack_bytes(type, block, part, v);
  const v128_t zero = wasm_i8x16_splat(zero_of(type));
  extend(wasm_i8x16_sub(v[0], zero), wasm_i8x16_sub(v[1], zero), to);
  if (!is_k(type)) return;
  int scales[2];
  scales_of_part(type, block, part, scales);
  for (int i = 0; i < 4; i++) to[i] = wasm_i16x8_mul(to[i], wasm_i16x8_splat(scales[i >> 1]));
}

/** Adds a block's product to `sum` as ggml does. */
INLINE v128_t add_up(int type, v128_t sum, v128_t product, v128_t row_scale, v128_t column_scale) {
  const v128_t p = wasm_f32x4_convert_i32x4(product);
  if (type == Q4_0) return wasm_f32x4_add(sum, wasm_f32x4_mul(wasm_f32x4_mul(p, row_scale), column_scale));
  return wasm_f32x4_add(sum, wasm_f32x4_mul(p, wasm_f32x4_mul(row_scale, column_scale)));
}
/** Adds sums of 16 bits in pairs. */
INLINE v128_t widened(v128_t sums) { return wasm_i32x4_extadd_pairwise_i16x8(sums); }
INLINE v128_t dot_add(v128_t sum, v128_t a, v128_t b) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b)); }
