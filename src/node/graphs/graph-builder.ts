import type { SafetensorsTensor } from '#gguf';

/**
 * Protocol Buffers encoding, as much of it as ONNX needs. Own code: a library with its generated ONNX messages would be
 * some hundred times these lines, and would travel to every user of the command line.
 */
type Field = readonly [number: number, value: FieldValue];
type FieldValue = number | string | Uint8Array | Float | readonly Field[];

/** A 32-bit float; a plain number is a varint. */
interface Float {
  float: number;
}

export const encodeMessage = (fields: readonly Field[]): Uint8Array =>
  Buffer.concat(fields.flatMap(([number, value]) => encodeField(number, value)));

function encodeField(number: number, value: FieldValue): Uint8Array[] {
  if (typeof value === 'number') return [varint(number * 8), varint(value)];
  if (typeof value === 'object' && 'float' in value)
    return [varint(number * 8 + 5), new Uint8Array(Float32Array.of(value.float).buffer)];
  const bytes = lengthDelimited(value);
  return [varint(number * 8 + 2), varint(bytes.length), bytes];
}

function lengthDelimited(value: string | Uint8Array | readonly Field[]): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : encodeMessage(value);
}

/** Negative numbers take ten bytes: they are encoded as 64-bit two's complement. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return Uint8Array.from([...bytes, Number(rest)]);
}

/** Numbers of `TensorProto.DataType`. */
const elementTypes = { float32: 1, int8: 3, int64: 7 } as const;
type ElementType = keyof typeof elementTypes;

type Attribute = number | readonly number[] | Float;

/** The domain of ONNX Runtime's own operators. */
export const MICROSOFT = 'com.microsoft';

/** Collects nodes and tensors, and writes them as an ONNX model. Field numbers are those of onnx.proto. */
export class GraphBuilder {
  readonly #nodes: Field[] = [];
  readonly #initializers: Field[] = [];
  readonly #inputs: Field[] = [];
  readonly #outputs: Field[] = [];
  readonly #externalFile: string;

  /** @param externalFile where external tensors' bytes are, relative to the model's own file. */
  constructor(externalFile = '') {
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
  external({ name, shape, offset, length }: SafetensorsTensor): string {
    const entries = { location: this.#externalFile, offset: String(offset), length: String(length) };
    return this.#initializer(name, 'float32', shape, [
      ...Object.entries(entries).map(([key, value]): Field => [13, pair(key, value)]),
      [14, 1],
    ]);
  }

  /** A tensor written into the model itself. */
  tensor(name: string, data: Float32Array | Int8Array, shape: readonly number[]): string {
    const type = data instanceof Int8Array ? 'int8' : 'float32';
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return this.#initializer(name, type, shape, [[9, bytes]]);
  }

  /** A few numbers; without a shape, a scalar. */
  constant(
    name: string,
    type: 'float32' | 'int64',
    values: readonly number[],
    shape: readonly number[] = [],
  ): string {
    const data = type === 'int64' ? BigInt64Array.from(values, BigInt) : Float32Array.from(values);
    return this.#initializer(name, type, shape, [[9, new Uint8Array(data.buffer)]]);
  }

  #initializer(name: string, type: ElementType, shape: readonly number[], content: Field[]): string {
    const sizes = shape.map((size): Field => [1, size]);
    this.#initializers.push([5, [...sizes, [2, elementTypes[type]], [8, name], ...content]]);
    return name;
  }

  /** Adds a node and returns the names of its outputs. */
  node<Output extends string | readonly string[]>(
    operator: string,
    inputs: readonly string[],
    output: Output,
    attributes: Record<string, Attribute> = {},
    domain = '',
  ): Output {
    this.#nodes.push([
      1,
      [
        ...inputs.map((input): Field => [1, input]),
        ...[output].flat().map((each): Field => [2, each]),
        [4, operator],
        ...Object.entries(attributes).map(([name, value]): Field => [5, attribute(name, value)]),
        [7, domain],
      ],
    ]);
    return output;
  }

  build(name: string, opsets: Record<string, number>): Uint8Array {
    const named: Field = [2, name];
    const graph = [...this.#nodes, named, ...this.#initializers, ...this.#inputs, ...this.#outputs];
    return encodeMessage([
      [1, 8],
      [2, 'localtext'],
      [7, graph],
      ...Object.entries(opsets).map(([domain, version]): Field => [8, pair(domain, version)]),
    ]);
  }
}

/** A message of two fields. */
const pair = (first: FieldValue, second: FieldValue): Field[] => [
  [1, first],
  [2, second],
];

function valueInfo(name: string, type: ElementType, shape: readonly (number | string)[]): Field[] {
  const dimensions = shape.map((size): Field => [1, [[typeof size === 'number' ? 1 : 2, size]]]);
  return pair(name, [[1, pair(elementTypes[type], dimensions)]]);
}

function attribute(name: string, value: Attribute): Field[] {
  const [type, fields] = attributeValue(value);
  return [[1, name], ...fields, [20, type]];
}

/** Encodes a value, with the number of its type. */
function attributeValue(value: Attribute): [type: number, fields: Field[]] {
  if (typeof value === 'number') return [2, [[3, value]]];
  if ('float' in value) return [1, [[2, value]]];
  return [7, value.map((item): Field => [8, item])];
}
