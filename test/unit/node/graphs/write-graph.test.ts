import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { bertGraph, tensorsOfFile } from '../../../../src/node/graphs/bert-graph.ts';
import { encodeMessage } from '../../../../src/node/graphs/graph-builder.ts';
import { miniLmConfig, miniLmTensors } from './mini-lm.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

// The examples of the format's own documentation, protobuf.dev/programming-guides/encoding.
test.each([
  ['a varint', [[1, 150]], '089601'],
  ['a string', [[2, 'testing']], '120774657374696e67'],
  ['a message within', [[3, [[1, 150]]]], '1a03089601'],
  ['a negative number', [[1, -2]], '08feffffffffffffffff01'],
  ['a float', [[1, { float: 1.5 }]], '0d0000c03f'],
] as const)('encodes %s', (_name, fields, hex) => {
  expect(Buffer.from(encodeMessage(fields)).toString('hex')).toBe(hex);
});

test('reads where the tensors of a safetensors file are', async () => {
  const folder = await tempFolder('safetensors');
  const path = join(folder, 'model.safetensors');
  const header = JSON.stringify({
    __metadata__: { format: 'pt' },
    a: { dtype: 'F32', shape: [2, 3], data_offsets: [4, 28] },
  });
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  await writeFile(path, Buffer.concat([prefix, Buffer.from(header), Buffer.alloc(28)]));
  expect([...(await tensorsOfFile(path)).values()]).toEqual([
    { name: 'a', shape: [2, 3], offset: 8 + header.length + 4, length: 24 },
  ]);
  await writeFile(path, prefix);
  await expect(tensorsOfFile(path)).rejects.toThrow('as the length of its header');
  await writeFile(path, 'this is some other file');
  await expect(tensorsOfFile(path)).rejects.toThrow('as the length of its header');
});

test("MiniLM's graph has the pinned bytes", () => {
  const graph = bertGraph(miniLmConfig, miniLmTensors(), 'model.onnx_data');
  const pinned = defaultCatalog.models
    .flatMap(({ variants }) => variants)
    .flatMap(({ files }) => files)
    .find(({ path }) => path === 'all-minilm-l6-v2/onnx/model.onnx');
  expect({ bytes: graph.length, sha256: createHash('sha256').update(graph).digest('hex') }).toEqual({
    bytes: pinned?.bytes,
    sha256: pinned?.sha256,
  });
});

test('a tensor that is not there is named', () => {
  const tensors = miniLmTensors();
  tensors.delete('encoder.layer.3.output.dense.bias');
  expect(() => bertGraph(miniLmConfig, tensors, 'data')).toThrow(
    'the weights have no tensor encoder.layer.3.output.dense.bias',
  );
});
