import type { BertConfig } from '../../../../src/node/graphs/bert-graph.ts';
import type { SafetensorsTensor } from '../../../../src/gguf/read-safetensors.ts';

export const miniLmConfig: BertConfig = {
  hidden_size: 384,
  num_attention_heads: 12,
  num_hidden_layers: 6,
  layer_norm_eps: 1e-12,
};

/** Length of the header of all-MiniLM-L6-v2's model.safetensors, and of its first tensor, 512 position ids. */
const HEADER_BYTES = 11_408;
const POSITION_IDS_BYTES = 4_096;

/** The layout of all-MiniLM-L6-v2's model.safetensors: after the position ids, all tensors in the order of their names. */
export function miniLmTensors(): Map<string, SafetensorsTensor> {
  const shapes = new Map<string, number[]>([
    ['embeddings.position_embeddings.weight', [512, 384]],
    ['embeddings.token_type_embeddings.weight', [2, 384]],
    ['embeddings.word_embeddings.weight', [30_522, 384]],
    ...layerNorm('embeddings.LayerNorm'),
  ]);
  for (let index = 0; index < 6; index++) {
    const layer = `encoder.layer.${index}`;
    const linears = [
      ...['query', 'key', 'value'].flatMap((name) => linear(`${layer}.attention.self.${name}`, 384, 384)),
      ...linear(`${layer}.attention.output.dense`, 384, 384),
      ...linear(`${layer}.intermediate.dense`, 1536, 384),
      ...linear(`${layer}.output.dense`, 384, 1536),
      ...layerNorm(`${layer}.attention.output.LayerNorm`),
      ...layerNorm(`${layer}.output.LayerNorm`),
    ];
    for (const [name, shape] of linears) shapes.set(name, shape);
  }
  let offset = 8 + HEADER_BYTES + POSITION_IDS_BYTES;
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, shape] of [...shapes].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const length = 4 * shape.reduce((product, size) => product * size, 1);
    tensors.set(name, { name, shape, offset, length });
    offset += length;
  }
  return tensors;
}

const linear = (name: string, output: number, input: number): [string, number[]][] => [
  [`${name}.weight`, [output, input]],
  [`${name}.bias`, [output]],
];

const layerNorm = (name: string): [string, number[]][] => [
  [`${name}.weight`, [384]],
  [`${name}.bias`, [384]],
];
