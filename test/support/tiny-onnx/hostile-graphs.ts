import { encodeMessage } from '../../../src/node/graphs/graph-builder.ts';
import { tinyGraph } from './tiny-model.ts';

/** ONNX graphs that are written to do harm. Field numbers are those of onnx.proto. */

type Fields = Parameters<typeof encodeMessage>[0];
type Field = Fields[number];

const FLOAT = 1;
const INT64 = 7;
const BOOL = 9;

const node = (operator: string, inputs: string[], output: string, attributes: Fields = []): Field => [
  1,
  [...inputs.map((input): Field => [1, input]), [2, output], [4, operator], ...attributes],
];
const attribute = (name: string, type: number, value: Field): Field => [5, [[1, name], value, [20, type]]];
const subgraph = (name: string, graph: Fields): Field => attribute(name, 5, [6, encodeMessage(graph)]);
const to = (type: number): Field => attribute('to', 2, [3, type]);

const typed = (name: string, type: number, sizes: (number | string)[]): Fields => {
  const shape = sizes.map((size): Field => [1, [[typeof size === 'number' ? 1 : 2, size]]]);
  const tensor: Fields = [
    [1, type],
    [2, shape],
  ];
  return [
    [1, name],
    [2, [[1, tensor]]],
  ];
};

/** Tensor of these bytes, whatever its sizes say. */
const tensor = (name: string, type: number, sizes: number[], bytes: Uint8Array): Field => [
  5,
  [...sizes.map((size): Field => [1, size]), [2, type], [8, name], [9, bytes]],
];
const integers = (name: string, ...values: number[]): Field =>
  tensor(name, INT64, [values.length], new Uint8Array(BigInt64Array.from(values, BigInt).buffer));

const TOKENS = ['batch_size', 'sequence_length'];
const INPUTS = ['input_ids', 'attention_mask', 'token_type_ids'];

/** A model of these nodes and tensors, from the usual inputs to the usual output. */
const model = (...content: Field[]): Uint8Array =>
  encodeMessage([
    [1, 8],
    [
      7,
      [
        ...content,
        [2, 'hostile'],
        ...INPUTS.map((name): Field => [11, typed(name, INT64, TOKENS)]),
        [12, typed('last_hidden_state', FLOAT, [...TOKENS, 'width'])],
      ],
    ],
    [8, [[2, 17]]],
  ]);

/** The ids as states of one number. */
const states = (output: string): Field[] => [
  node('Cast', ['input_ids'], 'floats', [to(FLOAT)]),
  integers('axis', 2),
  node('Unsqueeze', ['floats', 'axis'], output),
];

/** The tensor repeated along each of its dimensions, as the output. */
const tiled = (input: string, ...times: number[]): Field[] => [
  integers('times', ...times),
  node('Tile', [input, 'times'], 'last_hidden_state'),
];

const yes = tensor('yes', BOOL, [], Uint8Array.of(1));

/** `If` within `If`. */
const nested = (levels: number): Fields => {
  const output: Field = [12, typed('value', FLOAT, [])];
  const graph = (inner: Field): Fields => [inner, [2, 'branch'], output];
  let content = graph(node('Cast', ['yes'], 'value', [to(FLOAT)]));
  for (let level = 0; level < levels; level++) {
    const branches = [subgraph('then_branch', content), subgraph('else_branch', [[2, 'branch'], output])];
    content = graph(node('If', ['yes'], 'value', branches));
  }
  return content;
};

export const graphs = {
  /** Its tensors lie outside the model's folder. */
  'data-above': tinyGraph({ location: '../fine/model.onnx_data' }),
  'data-of-the-system': tinyGraph({ location: '/etc/passwd' }),
  'data-at-an-address': tinyGraph({ location: 'https://example.com/model.onnx_data' }),
  /** Its tensors lie beyond their file. */
  'data-beyond': tinyGraph({ place: (tensors) => ({ ...tensors, offset: 2 ** 40 }) }),
  'data-before': tinyGraph({ place: (tensors) => ({ ...tensors, offset: -64 }) }),
  'data-too-long': tinyGraph({ place: (tensors) => ({ ...tensors, length: 2 ** 40 }) }),
  'huge-tensor': model(
    ...states('state'),
    tensor('huge', FLOAT, [2 ** 20, 2 ** 20], new Uint8Array(4)),
    node('Add', ['state', 'huge'], 'last_hidden_state'),
  ),
  'negative-sizes': model(
    ...states('state'),
    tensor('huge', FLOAT, [-1, -4], new Uint8Array(16)),
    node('Add', ['state', 'huge'], 'last_hidden_state'),
  ),
  'unknown-operator': model(...states('state'), node('Nonsense', ['state'], 'last_hidden_state')),
  circle: model(
    ...states('state'),
    node('Add', ['state', 'b'], 'a'),
    node('Identity', ['a'], 'b'),
    node('Identity', ['b'], 'last_hidden_state'),
  ),
  'deep-subgraphs': model(
    ...states('state'),
    yes,
    ...nested(500).slice(0, 1),
    node('Add', ['state', 'value'], 'last_hidden_state'),
  ),
} satisfies Record<string, Uint8Array>;

/** They load. */
export const running = {
  /** The square root of -1. */
  'not-a-number': model(
    ...states('state'),
    node('Abs', ['state'], 'positive'),
    node('Neg', ['positive'], 'negative'),
    node('Sqrt', ['negative'], 'roots'),
    ...tiled('roots', 1, 1, 16),
  ),
  'another-width': model(...states('last_hidden_state')),
  /** Twice as many states as tokens, of half the width. */
  'another-shape': model(...states('state'), ...tiled('state', 1, 2, 8)),
  /** Four terabytes of zeros. */
  'huge-constant': model(
    ...states('state'),
    integers('sizes', 1, 2 ** 20, 2 ** 20),
    node('ConstantOfShape', ['sizes'], 'zeros'),
    node('Add', ['state', 'zeros'], 'last_hidden_state'),
  ),
  /** Graph that takes as many gigabytes as the ids of the text allow. */
  'huge-when-run': model(...states('state'), ...tiled('state', 2 ** 16, 1, 2 ** 16)),
  endless: model(
    ...states('state'),
    yes,
    node('Loop', ['', 'yes', 'state'], 'last_hidden_state', [
      subgraph('body', [
        node('Identity', ['go_on'], 'goes_on'),
        node('Identity', ['before'], 'after'),
        [2, 'body'],
        [11, typed('round', INT64, [])],
        [11, typed('go_on', BOOL, [])],
        [11, typed('before', FLOAT, [...TOKENS, 1])],
        [12, typed('goes_on', BOOL, [])],
        [12, typed('after', FLOAT, [...TOKENS, 1])],
      ]),
    ]),
  ),
} satisfies Record<string, Uint8Array>;
