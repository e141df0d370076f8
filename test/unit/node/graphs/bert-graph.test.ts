import { expect, test } from 'vitest';

import { bertInt8Graph } from '../../../../src/node/graphs/bert-graph.ts';
import {
  type Matrix,
  pickColumns,
  pickRows,
  quantizeRows,
  rotateColumns,
  scaleColumns,
  transpose,
} from '../../../../src/node/graphs/operators.ts';

const matrix = (...rows: number[][]): Matrix => ({
  data: Float32Array.from(rows.flat()),
  rows: rows.length,
  columns: rows[0]?.length ?? 0,
});

test('a row in 8 bits has its own scale, and is met to half of it', () => {
  const given = matrix([1, -0.25, 0.251, 0], [0, 0, 0, 0], [-1000, 3, 4, 5]);
  const { data, scales } = quantizeRows(given);
  expect(data.slice(0, 4)).toEqual(Int8Array.of(127, -32, 32, 0));
  expect(data.slice(4, 8)).toEqual(Int8Array.of(0, 0, 0, 0));
  expect(data[8]).toBe(-127);
  given.data.forEach((value, i) => {
    const scale = scales[Math.floor(i / 4)] ?? 0;
    expect(Math.abs((data[i] ?? 0) * scale - value)).toBeLessThanOrEqual(scale * 0.501);
  });
});

test('rows and columns are picked, scaled, turned and rotated', () => {
  const given = matrix([1, 2, 3], [4, 5, 6]);
  expect(pickRows(given, [1])).toEqual(matrix([4, 5, 6]));
  expect(pickColumns(given, [2, 0])).toEqual(matrix([3, 1], [6, 4]));
  expect(scaleColumns(given, Float32Array.of(1, 2, 4))).toEqual(matrix([1, 4, 12], [4, 10, 24]));
  expect(transpose(given)).toEqual(matrix([1, 4], [2, 5], [3, 6]));
  const outlier = matrix([0, 8, 0, 0, 1, 1, 1, 1]);
  expect(rotateColumns(outlier, 4)).toEqual(matrix([4, -4, 4, -4, 2, 0, 0, 0]));
  expect(rotateColumns(rotateColumns(outlier, 4), 4)).toEqual(outlier);
});

const config = { hidden_size: 64, num_attention_heads: 2, num_hidden_layers: 1, layer_norm_eps: 1e-12 };

/** Tensor of a BERT with 128 units in its feed-forward layer, and 5 words. */
function tensor(name: string): Matrix {
  const rows = name.endsWith('word_embeddings.weight') ? 5 : name.includes('intermediate') ? 128 : 64;
  const columns = /\d\.output\.dense\.weight/.test(name) ? 128 : 64;
  const shape = /bias|LayerNorm/.test(name) ? { rows: 1, columns: rows } : { rows, columns };
  const data = Float32Array.from({ length: shape.rows * shape.columns }, (_, i) => Math.sin(i + name.length));
  return { data, ...shape };
}

test('the graph in 8 bits is the same each time, and has what ONNX Runtime quantizes by', () => {
  const graph = bertInt8Graph(config, tensor, { 3: 4 });
  expect(Buffer.from(bertInt8Graph(config, tensor, { 3: 4 })).equals(graph)).toBe(true);
  expect(Buffer.from(bertInt8Graph(config, tensor, { 3: 2 })).equals(graph)).toBe(false);
  const text = Buffer.from(graph).toString('latin1');
  // One for query, key and value, attention's output, and two in the feed-forward layer.
  expect(text.match(/DynamicQuantizeMatMul/g)).toHaveLength(4);
  expect(text).not.toContain('model.onnx_data');
});
