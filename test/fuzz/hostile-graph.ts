import { encodeMessage } from '../../src/node/graphs/graph-builder.ts';
import type { Random } from '../chaos/random.ts';
import { tinyGraph } from '../support/tiny-onnx/tiny-model.ts';

type Value = number | Uint8Array | Field[];
type Field = [number: number, value: Value];

/** Messages of onnx.proto that hold others, and by which fields. */
const INNER: Record<string, Record<number, string>> = {
  model: { 7: 'graph', 8: 'opset' },
  graph: { 1: 'node', 5: 'tensor', 11: 'value', 12: 'value' },
  node: { 5: 'attribute' },
  tensor: { 13: 'entry' },
  value: { 2: 'type' },
  type: { 1: 'tensorType' },
  tensorType: { 2: 'shape' },
  shape: { 1: 'size' },
};
const NUMBERS = [0, 1, 2, 3, 7, 16, 64, 255, 0xffff, 0x7fffffff, 2 ** 32, 2 ** 53, -1, -64];
const VARINT = 0;
const BYTES = 2;

/** Reads what `encodeMessage` writes, floats left out: the tiny graph keeps its own in tensors. */
function decodeMessage(bytes: Uint8Array, kind: string): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [number, wire] = [tag >> 3, tag & 7];
    if (wire === VARINT) fields.push([number, varint()]);
    else if (wire === BYTES) {
      const length = varint();
      const value = bytes.subarray(at, (at += length));
      const inner = INNER[kind]?.[number];
      fields.push([number, inner === undefined ? value : decodeMessage(value, inner)]);
    } else at += 4;
  }
  return fields;
}

/** A sound graph with some damage: fields that are missing, doubled, of another place, or that say something else. */
export function hostileGraph(random: Random): Uint8Array {
  const graph = decodeMessage(tinyGraph(), 'model');
  for (let changes = 1 + random.below(3); changes > 0; changes--) damage(graph, random);
  return encodeMessage(graph);
}

function damage(graph: Field[], random: Random): void {
  const messages = messagesOf(graph);
  // By their fields: most messages are tensors.
  const kindOf = (fields: Field[]): string => fields.map(([number]) => number).join();
  const kind = random.pick([...new Set(messages.map(kindOf))]);
  const fields = random.pick(messages.filter((each) => kindOf(each) === kind));
  const index = random.below(fields.length);
  const field = fields[index];
  if (!field) return;
  const [number, value] = field;
  switch (random.below(5)) {
    case 0:
      fields.splice(index, 1);
      return;
    case 1:
      fields.splice(random.below(fields.length), 0, field);
      return;
    case 2: {
      const same = messages.flatMap((all) => all.filter(([also]) => also === number));
      // A copy, or a message might hold itself.
      fields[index] = structuredClone(random.pick(same));
      return;
    }
    case 3:
      fields.push(...fields.splice(0, index));
      return;
    default:
      fields[index] = [number, other(value, random)];
  }
}

function messagesOf(fields: Field[]): Field[][] {
  return [fields, ...fields.flatMap(([, value]) => (isMessage(value) ? messagesOf(value) : []))];
}

const isMessage = (value: Value): value is Field[] => Array.isArray(value);

function other(value: Value, random: Random): Value {
  if (typeof value === 'number') return random.pick(NUMBERS);
  if (isMessage(value)) return [];
  const bytes = Uint8Array.from(value);
  if (random.below(2) === 0) return bytes.subarray(0, random.below(bytes.length + 1));
  bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}
