import {
  filterNode,
  identifier,
  member,
  negated,
  type Node,
  testNode,
  type Value,
} from './template-nodes.ts';
import type { Bounds } from './template-texts.ts';

/** Functions of the interpreter that list filters use. */
export interface Interpreting extends Bounds {
  /** Evaluates a node with these variables. */
  evaluate(node: Node, names: ReadonlyMap<string, Value>): Value;
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
const argument = (index: number): string => `an argument ${index}`;

const textOf = (value: Value | undefined): string | undefined =>
  typeof value?.value === 'string' ? value.value : undefined;

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

/** The least or greatest of numbers. */
const extreme =
  (choose: (...numbers: number[]) => number): ListFilter =>
  (values) => {
    const numbers = values.map(({ value }) => (typeof value === 'string' ? Number.NaN : Number(value)));
    if (numbers.some(Number.isNaN)) throw new Error('min and max compare numbers alone');
    return values[numbers.indexOf(choose(...numbers))];
  };

/** The first of values that are equal in Python: `1` and `1.0`, and texts in any case unless an argument says otherwise. */
const unique: ListFilter = (values, [isExact, attribute], { plain, toList }) => {
  if (attribute) throw new Error('unique compares whole values alone');
  const keyOf = ({ value }: { value: unknown }): unknown => {
    if (typeof value === 'string') return isExact?.value === true ? plain(value) : plain(value).toLowerCase();
    const inner: unknown = value?.valueOf();
    return typeof inner === 'boolean' ? Number(inner) : inner;
  };
  const seen = new Set<unknown>();
  // A set grows by a new key only.
  return toList(values.filter((value) => seen.size < seen.add(keyOf(value)).size));
};

/** List filters that the library lacks, or supports only with some arguments. */
export const LIST_FILTERS: ReadonlyMap<string, ListFilter> = new Map<string, ListFilter>([
  ['select', select(false, true)],
  ['reject', select(false, false)],
  ['selectattr', select(true, true)],
  ['rejectattr', select(true, false)],
  ['map', map],
  ['max', extreme(Math.max)],
  ['min', extreme(Math.min)],
  ['unique', unique],
]);
