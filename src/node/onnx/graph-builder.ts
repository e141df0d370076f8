import { encodeMessage, type Field } from './protobuf.ts';

/** Numbers of `TensorProto.DataType`. */
const elementTypes = { float32: 1, int64: 7 } as const;
export type ElementType = keyof typeof elementTypes;

export interface ExternalTensor {
  name: string;
  shape: readonly number[];
  /** Bytes from the start of the external file. */
  offset: number;
  length: number;
}

export type Attribute = number | readonly number[] | { float: number };

/** Collects nodes and tensors, and writes them as an ONNX model. Field numbers are those of onnx.proto. */
export class GraphBuilder {
  readonly #nodes: Field[] = [];
  readonly #initializers: Field[] = [];
  readonly #inputs: Field[] = [];
  readonly #outputs: Field[] = [];
  readonly #externalFile: string;

  /** @param externalFile where the tensors' bytes are, relative to the model's own file. */
  constructor(externalFile: string) {
    this.#externalFile = externalFile;
  }

  input(name: string, type: ElementType, shape: readonly (number | string)[]): string {
    this.#inputs.push([11, valueInfo(name, type, shape)]);
    return name;
  }

  output(name: string, type: ElementType, shape: readonly (number | string)[]): void {
    this.#outputs.push([12, valueInfo(name, type, shape)]);
  }

  /** A float32 tensor whose bytes are in the external file. */
  external(tensor: ExternalTensor): string {
    const { name, shape, offset, length } = tensor;
    const entries = { location: this.#externalFile, offset: String(offset), length: String(length) };
    this.#initializers.push([
      5,
      [
        ...shape.map((size): Field => [1, size]),
        [2, elementTypes.float32],
        [8, name],
        ...Object.entries(entries).map(([key, value]): Field => [
          13,
          [
            [1, key],
            [2, value],
          ],
        ]),
        [14, 1],
      ],
    ]);
    return name;
  }

  /** A tensor small enough to be written into the model itself; without a shape, a scalar. */
  constant(
    name: string,
    type: ElementType,
    values: readonly number[],
    shape: readonly number[] = [],
  ): string {
    const bytes = type === 'float32' ? Float32Array.from(values) : BigInt64Array.from(values, BigInt);
    this.#initializers.push([
      5,
      [
        ...shape.map((size): Field => [1, size]),
        [2, elementTypes[type]],
        [8, name],
        [9, new Uint8Array(bytes.buffer)],
      ],
    ]);
    return name;
  }

  /** Adds a node and returns the name of its one output. */
  node(
    operator: string,
    inputs: readonly string[],
    output: string,
    attributes: Record<string, Attribute> = {},
    domain = '',
  ): string {
    this.#nodes.push([
      1,
      [
        ...inputs.map((input): Field => [1, input]),
        [2, output],
        [4, operator],
        ...Object.entries(attributes).map(([name, value]): Field => [5, attribute(name, value)]),
        [7, domain],
      ],
    ]);
    return output;
  }

  build(name: string, opsets: Record<string, number>): Uint8Array {
    const graph = [
      ...this.#nodes,
      [2, name] as Field,
      ...this.#initializers,
      ...this.#inputs,
      ...this.#outputs,
    ];
    return encodeMessage([
      [1, 8],
      [2, 'localtext'],
      [7, graph],
      ...Object.entries(opsets).map(([domain, version]): Field => [
        8,
        [
          [1, domain],
          [2, version],
        ],
      ]),
    ]);
  }
}

function valueInfo(name: string, type: ElementType, shape: readonly (number | string)[]): Field[] {
  const dimensions = shape.map((size): Field => [1, [[typeof size === 'number' ? 1 : 2, size]]]);
  const tensorType: Field[] = [
    [1, elementTypes[type]],
    [2, dimensions],
  ];
  return [
    [1, name],
    [2, [[1, tensorType]]],
  ];
}

function attribute(name: string, value: Attribute): Field[] {
  if (typeof value === 'number')
    return [
      [1, name],
      [3, value],
      [20, 2],
    ];
  if ('float' in value)
    return [
      [1, name],
      [2, value],
      [20, 1],
    ];
  return [[1, name], ...value.map((item): Field => [8, item]), [20, 7]];
}
