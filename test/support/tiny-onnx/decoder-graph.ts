import { GraphBuilder } from '../../../src/convert/onnx/graph-builder.ts';

export interface TinyConfig {
  vocabulary: number;
  hidden: number;
  heads: number;
  layers: number;
  intermediate: number;
  /** Positions that it knows. */
  positions: number;
  /** Added to the logits of each token. */
  bias: number[];
}

/** Numbers in [-1, 1), the same in every run: the "weights" (xorshift, Marsaglia 2003). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  };
}

/**
 * A language model of the Llama family, too small to mean anything: RMSNorm, rotary positions, causal attention over a
 * KV cache, gated MLP. Inputs and outputs are those by which transformers.js runs a decoder.
 */
export function decoderGraph(config: TinyConfig): Uint8Array {
  const graph = new GraphBuilder('none');
  const { vocabulary, hidden, heads, layers, intermediate, positions } = config;
  const size = hidden / heads;
  const half = size / 2;
  const random = randomNumbers(20_261_121);
  const weight = (name: string, rows: number, columns: number, scale: number): string => {
    const values = Array.from({ length: rows * columns }, () => random() * scale);
    return graph.constant(name, 'float32', values, [rows, columns]);
  };
  const integers = (name: string, values: number[]): string =>
    graph.constant(name, 'int64', values, [values.length]);

  const past = ['batch_size', heads, 'past_sequence_length', size];
  const present = ['batch_size', heads, 'total_sequence_length', size];
  const ids = graph.input('input_ids', 'int64', ['batch_size', 'sequence_length']);
  const mask = graph.input('attention_mask', 'int64', ['batch_size', 'total_sequence_length']);
  const at = graph.input('position_ids', 'int64', ['batch_size', 'sequence_length']);

  const zero = integers('zero', [0]);
  const one = integers('one', [1]);
  const two = integers('two', [2]);
  const last = integers('last', [3]);
  const middle = integers('middle', [half]);
  const end = integers('end', [size]);
  const splitShape = integers('split_shape', [0, 0, heads, size]);
  const mergedShape = integers('merged_shape', [0, 0, hidden]);
  const epsilon = graph.constant('epsilon', 'float32', [1e-6]);
  const scale = graph.constant('scale', 'float32', [1 / Math.sqrt(size)]);
  const hiddenScore = graph.constant('hidden_score', 'float32', [-1e9]);

  /** One row of angles for each position: [positions, size]. */
  const angles = (name: string, of: (angle: number) => number): string => {
    const values = Array.from({ length: positions * size }, (_, index) => {
      const frequency = 10_000 ** (-((index % size) % half) / half);
      return of(Math.floor(index / size) * frequency);
    });
    const table = graph.constant(`${name}.table`, 'float32', values, [positions, size]);
    const rows = graph.node('Gather', [table, at], `${name}.rows`);
    return graph.node('Unsqueeze', [rows, one], name);
  };
  const cos = angles('cos', Math.cos);
  const sin = angles('sin', Math.sin);

  // Hidden are the keys after the query: positions of keys are 0 to the mask's length.
  const maskShape = graph.node('Shape', [mask], 'mask.shape');
  const total = graph.node('Slice', [maskShape, one, two, zero], 'mask.total');
  const places = graph.constant(
    'places',
    'int64',
    Array.from({ length: positions }, (_, i) => i),
    [positions],
  );
  const keys = graph.node('Slice', [places, zero, total, zero], 'keys');
  const queries = graph.node('Unsqueeze', [at, integers('query_axes', [1, 3])], 'queries');
  const later = graph.node('Greater', [keys, queries], 'later');

  const norm = (input: string, name: string): string => {
    const squares = graph.node('Mul', [input, input], `${name}.squares`);
    const mean = graph.node('ReduceMean', [squares], `${name}.mean`, { axes: [-1], keepdims: 1 });
    const safe = graph.node('Add', [mean, epsilon], `${name}.safe`);
    const root = graph.node('Sqrt', [safe], `${name}.root`);
    return graph.node('Div', [input, root], `${name}.output`);
  };
  const linear = (input: string, name: string, from: number, to: number): string =>
    graph.node('MatMul', [input, weight(`${name}.weight`, from, to, 2 / Math.sqrt(from))], name);
  const split = (input: string, name: string): string => {
    const parted = graph.node('Reshape', [input, splitShape], `${name}.split`);
    return graph.node('Transpose', [parted], `${name}.heads`, { perm: [0, 2, 1, 3] });
  };
  const rotate = (input: string, name: string): string => {
    const front = graph.node('Slice', [input, zero, middle, last], `${name}.front`);
    const back = graph.node('Slice', [input, middle, end, last], `${name}.back`);
    const negative = graph.node('Neg', [back], `${name}.negative`);
    const turned = graph.node('Concat', [negative, front], `${name}.turned`, { axis: 3 });
    const straight = graph.node('Mul', [input, cos], `${name}.straight`);
    const across = graph.node('Mul', [turned, sin], `${name}.across`);
    return graph.node('Add', [straight, across], `${name}.rotated`);
  };
  const cached = (fresh: string, layer: number, part: 'key' | 'value'): string => {
    const before = graph.input(`past_key_values.${layer}.${part}`, 'float32', past);
    const name = `present.${layer}.${part}`;
    graph.node('Concat', [before, fresh], name, { axis: 2 });
    graph.output(name, 'float32', present);
    return name;
  };

  let state = graph.node('Gather', [weight('embeddings', vocabulary, hidden, 1), ids], 'embedded');
  for (let index = 0; index < layers; index++) {
    const layer = `layer.${index}`;
    const input = norm(state, `${layer}.input_norm`);
    const project = (part: string): string =>
      split(linear(input, `${layer}.${part}`, hidden, hidden), `${layer}.${part}`);
    const query = rotate(project('query'), `${layer}.query`);
    const key = cached(rotate(project('key'), `${layer}.key`), index, 'key');
    const value = cached(project('value'), index, 'value');
    const across = graph.node('Transpose', [key], `${layer}.key.columns`, { perm: [0, 1, 3, 2] });
    const products = graph.node('MatMul', [query, across], `${layer}.products`);
    const scaled = graph.node('Mul', [products, scale], `${layer}.scaled`);
    const scores = graph.node('Where', [later, hiddenScore, scaled], `${layer}.scores`);
    const shares = graph.node('Softmax', [scores], `${layer}.shares`, { axis: -1 });
    const mixed = graph.node('MatMul', [shares, value], `${layer}.mixed`);
    const gathered = graph.node('Transpose', [mixed], `${layer}.gathered`, { perm: [0, 2, 1, 3] });
    const merged = graph.node('Reshape', [gathered, mergedShape], `${layer}.merged`);
    const attended = linear(merged, `${layer}.output`, hidden, hidden);
    const sum = graph.node('Add', [state, attended], `${layer}.sum`);
    const normed = norm(sum, `${layer}.mlp_norm`);
    const gate = linear(normed, `${layer}.gate`, hidden, intermediate);
    const sigmoid = graph.node('Sigmoid', [gate], `${layer}.sigmoid`);
    const silu = graph.node('Mul', [gate, sigmoid], `${layer}.silu`);
    const up = linear(normed, `${layer}.up`, hidden, intermediate);
    const gated = graph.node('Mul', [silu, up], `${layer}.gated`);
    const down = linear(gated, `${layer}.down`, intermediate, hidden);
    state = graph.node('Add', [sum, down], `${layer}.result`);
  }
  const head = linear(norm(state, 'final_norm'), 'head', hidden, vocabulary);
  const bias = graph.constant('bias', 'float32', config.bias, [vocabulary]);
  graph.node('Add', [head, bias], 'logits');
  graph.output('logits', 'float32', ['batch_size', 'sequence_length', vocabulary]);
  return graph.build('tiny', { '': 17 });
}
