// Blocks of weights, unpacked to 16 bits a value.
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

/** 32 values of a block in 16 bits each, times the part's own scale. @param part of a block of 256 */
INLINE void unpack(int type, const uint8_t *block, int part, v128_t to[4]) {
  const v128_t mask = wasm_i8x16_const_splat(15);
  if (type == Q8_0) {
    for (int i = 0; i < 4; i++) to[i] = wasm_i16x8_load8x8(block + 2 + 8 * i);
  } else if (type == Q4_0 || type == Q4_1 || type == Q5_0 || type == Q5_1) {
    const v128_t both = wasm_v128_load(block + (type == Q4_0 ? 2 : type == Q4_1 ? 4 : type == Q5_0 ? 6 : 8));
    v128_t low = wasm_v128_and(both, mask), high = wasm_u8x16_shr(both, 4);
    if (type == Q4_0) {
      low = wasm_i8x16_sub(low, wasm_i8x16_const_splat(8));
      high = wasm_i8x16_sub(high, wasm_i8x16_const_splat(8));
    } else if (type != Q4_1) {
      const uint8_t *fifth = block + (type == Q5_0 ? 2 : 4);
      const v128_t sixteen = wasm_i8x16_const_splat(16);
      low = wasm_v128_or(low, wasm_v128_and(bits_of(*(const uint16_t *)fifth), sixteen));
      high = wasm_v128_or(high, wasm_v128_and(bits_of(*(const uint16_t *)(fifth + 2)), sixteen));
      if (type == Q5_0) {
        low = wasm_i8x16_sub(low, sixteen);
        high = wasm_i8x16_sub(high, sixteen);
      }
    }
    extend(low, high, to);
  } else if (type == Q6_K) {
    const int k = part & 3;
    const uint8_t *fours = block + 64 * (part >> 2) + 32 * (k & 1), *twos = block + 128 + 32 * (part >> 2);
    v128_t v[2];
    for (int i = 0; i < 2; i++) {
      const v128_t four = wasm_v128_load(fours + 16 * i), two = wasm_v128_load(twos + 16 * i);
      const v128_t upper = wasm_i8x16_shl(wasm_v128_and(wasm_u8x16_shr(two, 2 * k), wasm_i8x16_const_splat(3)), 4);
      const v128_t lower = k < 2 ? wasm_v128_and(four, mask) : wasm_u8x16_shr(four, 4);
      v[i] = wasm_i8x16_sub(wasm_v128_or(lower, upper), wasm_i8x16_const_splat(32));
    }
    extend(v[0], v[1], to);
    const int8_t *scales = (const int8_t *)block + 192 + 8 * (part >> 2) + 2 * k;
    for (int i = 0; i < 4; i++) to[i] = wasm_i16x8_mul(to[i], wasm_i16x8_splat(scales[i >> 1]));
  } else {
    const uint8_t *fours = block + (type == Q4_K ? 16 : 48) + 32 * (part >> 1);
    v128_t v[2];
    for (int i = 0; i < 2; i++) {
      const v128_t four = wasm_v128_load(fours + 16 * i);
      v[i] = part & 1 ? wasm_u8x16_shr(four, 4) : wasm_v128_and(four, mask);
      if (type == Q5_K) {
        const v128_t bit = wasm_i8x16_splat(1 << part), fifth = wasm_v128_load(block + 16 + 16 * i);
        v[i] = wasm_v128_or(v[i], wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(fifth, bit), bit), wasm_i8x16_const_splat(16)));
      }
    }
    extend(v[0], v[1], to);
    int scale, offset;
    scale_and_offset(block + 4, part, &scale, &offset);
    for (int i = 0; i < 4; i++) to[i] = wasm_i16x8_mul(to[i], wasm_i16x8_splat(scale));
  }
}

/** Adds a block's product to `sum` as ggml does. */
INLINE v128_t add_up(int type, v128_t sum, v128_t product, v128_t row_scale, v128_t column_scale) {
  const v128_t p = wasm_f32x4_convert_i32x4(product);
  if (type == Q4_0) return wasm_f32x4_add(sum, wasm_f32x4_mul(wasm_f32x4_mul(p, row_scale), column_scale));
  return wasm_f32x4_add(sum, wasm_f32x4_mul(p, wasm_f32x4_mul(row_scale, column_scale)));
}
INLINE v128_t dot_add(v128_t sum, v128_t a, v128_t b) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b)); }
