/**
 * Protocol Buffers encoding, as much of it as ONNX needs. Own code: a library with its generated ONNX messages would be
 * some hundred times these lines, and would travel to every user of the command line.
 */
export type Field = readonly [number: number, value: FieldValue];
export type FieldValue = number | string | Uint8Array | Float | readonly Field[];

/** A 32-bit float; a plain number is a varint. */
export interface Float {
  float: number;
}

export function encodeMessage(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(fields.flatMap(([number, value]) => encodeField(number, value)));
}

function encodeField(number: number, value: FieldValue): Uint8Array[] {
  if (typeof value === 'number') return [varint(number * 8), varint(value)];
  if (isFloat(value)) return [varint(number * 8 + 5), float32(value.float)];
  const bytes = lengthDelimited(value);
  return [varint(number * 8 + 2), varint(bytes.length), bytes];
}

function lengthDelimited(value: string | Uint8Array | readonly Field[]): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : encodeMessage(value);
}

function isFloat(value: FieldValue): value is Float {
  return typeof value === 'object' && 'float' in value;
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

function float32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}
