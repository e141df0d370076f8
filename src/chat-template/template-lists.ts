import {
  binary,
  filterNode,
  identifier,
  member,
  negated,
  type Node,
  testNode,
  type Value,
} from './template-nodes.ts';
import { BoundError, type Bounds } from './template-texts.ts';

/** Functions of the interpreter that list filters use. */
export interface Interpreting extends Bounds {
  /** Evaluates a node with these variables. */
  evaluate(node: Node, names: ReadonlyMap<string, Value>): Value;
  toValue(value: string | number): Value;
  toList(values: readonly Value[]): Value;
}

/** A filter of lists. `args` has holes for omitted arguments. */
type ListFilter = (
  values: readonly Value[],
  args: readonly (Value | undefined)[],
  of: Interpreting,
) => Value | undefined;

/** Names that no template can use. */
const ITEM = 'an item';
const SUM = 'a sum';
const argument = (index: number): string => `an argument ${index}`;

const MAX_LISTS = 10_000;

const textOf = (value: Value | undefined): string | undefined =>
  typeof value?.value === 'string' ? value.value : undefined;

function sizeOf(value: Value | undefined): number {
  const size: unknown = value?.value;
  if (typeof size !== 'number' || !(size >= 1)) throw new Error('a list must be cut into 1 part or more');
  if (size > MAX_LISTS) throw new BoundError(`it cuts a list into more than ${MAX_LISTS} parts`);
  return Math.floor(size);
}

/** Evaluates a node for each value, with the values of a filter's arguments. */
function each(
  values: readonly Value[],
  args: readonly (Value | undefined)[],
  make: (item: Node, args: Node[]) => Node,
  of: Interpreting,
): Value[] {
  const named = args.flatMap((value, index): [string, Value][] => (value ? [[argument(index), value]] : []));
  const node = make(
    identifier(ITEM),
    named.map(([name]) => identifier(name)),
  );
  return values.map((value) => of.evaluate(node, new Map([...named, [ITEM, value]])));
}

/** Keeps values that pass a test, or whose attribute does; without a test, those that are true. */
const select =
  (hasAttribute: boolean, keeps: boolean): ListFilter =>
  (values, args, of) => {
    const [attribute, [test, ...others]] = hasAttribute ? [textOf(args[0]), args.slice(1)] : ['', args];
    const name = textOf(test);
    if (attribute === undefined || (test && name === undefined)) throw new Error('a test is named by a text');
    const make = (item: Node, testArgs: Node[]): Node => {
      const tested = hasAttribute ? member(item, attribute) : item;
      return negated(name === undefined ? tested : testNode(name, tested, testArgs));
    };
    const results = each(values, others, make, of);
    return of.toList(values.filter((_, index) => results[index]?.value === !keeps));
  };

function map(
  values: readonly Value[],
  [filter, ...args]: readonly (Value | undefined)[],
  of: Interpreting,
): Value {
  const name = textOf(filter) ?? '';
  return of.toList(each(values, args, (item, filterArgs) => filterNode(name, item, filterArgs), of));
}

function sum(
  values: readonly Value[],
  [attribute, start]: readonly (Value | undefined)[],
  of: Interpreting,
): Value {
  const path = textOf(attribute);
  const item = identifier(ITEM);
  const node = binary('+', identifier(SUM), path === undefined ? item : member(item, path));
  return values.reduce(
    (total, value) =>
      of.evaluate(
        node,
        new Map([
          [SUM, total],
          [ITEM, value],
        ]),
      ),
    start ?? of.toValue(0),
  );
}

/** Finds the first maximum (1) or minimum (-1). Texts compare by their lower case. */
const extreme =
  (direction: 1 | -1): ListFilter =>
  (values, [caseSensitive, attribute], of) => {
    const path = textOf(attribute);
    const make = (item: Node): Node => (path === undefined ? item : member(item, path));
    const keys = each(values, [], make, of).map(({ value }): string | number => {
      if (typeof value === 'string') return caseSensitive?.value === true ? value : value.toLowerCase();
      if (typeof value === 'number') return value;
      throw new Error('only texts and numbers can be compared');
    });
    if (new Set(keys.map((key) => typeof key)).size > 1)
      throw new Error('texts and numbers cannot be compared');
    let best = 0;
    for (const [index, key] of keys.entries()) {
      const other = keys[best] ?? key;
      if (direction > 0 ? key > other : key < other) best = index;
    }
    return values[best];
  };

function batch(
  values: readonly Value[],
  [size, fill]: readonly (Value | undefined)[],
  of: Interpreting,
): Value {
  const length = sizeOf(size);
  const batches: Value[] = [];
  for (let at = 0; at < values.length; at += length) {
    const part = values.slice(at, at + length);
    const missing = fill ? length - part.length : 0;
    batches.push(of.toList([...part, ...Array<Value>(missing).fill(fill as Value)]));
  }
  return of.toList(batches);
}

function slice(
  values: readonly Value[],
  [count, fill]: readonly (Value | undefined)[],
  of: Interpreting,
): Value {
  const slices = sizeOf(count);
  const [size, longer] = [Math.floor(values.length / slices), values.length % slices];
  let at = 0;
  const parts = Array.from({ length: slices }, (_, index) => {
    const end = at + size + (index < longer ? 1 : 0);
    const part = values.slice(at, end);
    at = end;
    return of.toList(fill && index >= longer ? [...part, fill] : part);
  });
  return of.toList(parts);
}

/** List filters that the library lacks, or supports only with some arguments. */
export const LIST_FILTERS: ReadonlyMap<string, ListFilter> = new Map<string, ListFilter>([
  ['select', select(false, true)],
  ['reject', select(false, false)],
  ['selectattr', select(true, true)],
  ['rejectattr', select(true, false)],
  ['map', map],
  ['sum', sum],
  ['min', extreme(-1)],
  ['max', extreme(1)],
  ['batch', batch],
  ['slice', slice],
]);
