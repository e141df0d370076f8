// ggml's `vec_dot` of Q8_0, Q4_0 and Q4_1 rows with a column in Q8_0 or Q8_1, in WASM's SIMD: takes the place of the package's.
// Nothing is called and no global used, so that the code alone can be moved into another module.
#include <stdint.h>
#include <wasm_simd128.h>

#define BLOCK 32
#define ARGUMENTS                                                                                                        \
  int length, float *result, uintptr_t unused1, const uint8_t *row, uintptr_t unused2, const uint8_t *column,             \
      uintptr_t unused3, int unused4

/** llama.cpp's own table of all half floats. */
static inline float from_half(const uint8_t *at) { return ((const float *)HALF_TABLE)[*(const uint16_t *)at]; }

static inline v128_t dot16(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(a), wasm_i16x8_extend_low_i8x16(b)),
                        wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(a), wasm_i16x8_extend_high_i8x16(b)));
}

static inline v128_t times(v128_t sum, float scale) {
  return wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum), wasm_f32x4_splat(scale));
}

static inline v128_t block_q8_0(const uint8_t *row, const uint8_t *column) {
  const v128_t sum = wasm_i32x4_add(dot16(wasm_v128_load(row + 2), wasm_v128_load(column + 2)),
                                    dot16(wasm_v128_load(row + 18), wasm_v128_load(column + 18)));
  return times(sum, from_half(row) * from_half(column));
}

static inline v128_t block_q4_0(const uint8_t *row, const uint8_t *column) {
  const v128_t both = wasm_v128_load(row + 2), eight = wasm_i8x16_const_splat(8);
  const v128_t low = wasm_i8x16_sub(wasm_v128_and(both, wasm_i8x16_const_splat(15)), eight);
  const v128_t high = wasm_i8x16_sub(wasm_u8x16_shr(both, 4), eight);
  const v128_t sum =
      wasm_i32x4_add(dot16(low, wasm_v128_load(column + 2)), dot16(high, wasm_v128_load(column + 18)));
  return times(sum, from_half(row) * from_half(column));
}

/** The offset times the column's sum goes into the first lane. */
static inline v128_t block_q4_1(const uint8_t *row, const uint8_t *column) {
  const v128_t both = wasm_v128_load(row + 4);
  const v128_t low = wasm_v128_and(both, wasm_i8x16_const_splat(15)), high = wasm_u8x16_shr(both, 4);
  const v128_t sum =
      wasm_i32x4_add(dot16(low, wasm_v128_load(column + 4)), dot16(high, wasm_v128_load(column + 20)));
  const v128_t offset = wasm_f32x4_make(from_half(row + 2) * from_half(column + 2), 0, 0, 0);
  return wasm_f32x4_add(times(sum, from_half(row) * from_half(column)), offset);
}

#define DOT(format, row_bytes, column_bytes)                                                              \
  __attribute__((export_name(#format))) void dot_##format(ARGUMENTS) {                                    \
    v128_t even = wasm_f32x4_const_splat(0), odd = even;                                                  \
    int block = length / BLOCK;                                                                           \
    for (; block > 1; block -= 2, row += 2 * row_bytes, column += 2 * column_bytes) {                     \
      even = wasm_f32x4_add(even, block_##format(row, column));                                           \
      odd = wasm_f32x4_add(odd, block_##format(row + row_bytes, column + column_bytes));                  \
    }                                                                                                     \
    if (block) even = wasm_f32x4_add(even, block_##format(row, column));                                  \
    const v128_t sum = wasm_f32x4_add(even, odd);                                                         \
    *result = wasm_f32x4_extract_lane(sum, 0) + wasm_f32x4_extract_lane(sum, 1) +                         \
              wasm_f32x4_extract_lane(sum, 2) + wasm_f32x4_extract_lane(sum, 3);                          \
  }

DOT(q8_0, 34, 34)
DOT(q4_0, 18, 34)
DOT(q4_1, 20, 36)
