import { filterNode, identifier, member, negated, type Node, testNode } from './template-nodes.ts';
import { type Bounds, integerIn, join } from './template-texts.ts';
import { listOf, pairsOf, toValue, type Value } from './template-values.ts';

/** Functions of the interpreter that filters use. */
export interface Interpreting extends Bounds {
  /** Evaluates a node with these variables. */
  evaluate(node: Node, names: ReadonlyMap<string, Value>): Value;
  /** Converts a value to text as Python does. */
  textOf(value: Value): string;
  /** Lists the items of a value. */
  itemsOf(value: Value): Value[];
}

/** `args` has holes for omitted arguments. */
type Args = readonly (Value | undefined)[];
type ValueFilter = (value: Value, args: Args, of: Interpreting) => Value;
type ListFilter = (values: Value[], args: Args, of: Interpreting) => Value | undefined;

/** Names that no template can use. */
const ITEM = 'an item';
const argument = (index: number): string => `an argument ${index}`;

const textOf = (value: Value | undefined): string | undefined =>
  typeof value?.value === 'string' ? value.value : undefined;

/** Evaluates a node for each value, with the values of a filter's arguments. */
function each(
  values: readonly Value[],
  args: Args,
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
    return listOf(
      values.filter((_, index) => results[index]?.value === !keeps),
      'generator',
    );
  };

const map: ListFilter = (values, [filter, ...args], of) => {
  const name = textOf(filter) ?? '';
  return listOf(
    each(values, args, (item, filterArgs) => filterNode(name, item, filterArgs), of),
    'generator',
  );
};

/** The attributes of values, by a path. */
function attributes(values: Value[], attribute: Value | undefined, of: Interpreting): Value[] {
  const path = attribute && of.textOf(attribute);
  if (path?.match(/,|\b\d/)) throw new Error(`the attribute "${path}" is not supported`);
  return path === undefined ? values : each(values, [], (item) => member(item, path), of);
}

const isTrue = (value: Value | undefined): boolean => value?.__bool__().value === true;

/** Sorts values by their keys, which are numbers, or texts in any case. */
function sorted(values: Value[], keys: Value[], isReversed: boolean, { plain }: Bounds): Value {
  const known = keys.map(({ value }) =>
    typeof value === 'string' ? plain(value).toLowerCase() : Number(value ?? Number.NaN),
  );
  if (known.some((key) => typeof key !== typeof known[0] || Number.isNaN(key)))
    throw new Error('values that are neither all numbers nor all texts have no order');
  const order = [...known.entries()].toSorted(([, a], [, b]) =>
    a === b ? 0 : a > b !== isReversed ? 1 : -1,
  );
  return listOf(order.flatMap(([index]) => values[index] ?? []));
}

/** Filters of all that has items. */
export const LIST_FILTERS: ReadonlyMap<string, ListFilter> = new Map<string, ListFilter>([
  ['first', ([first]) => first],
  [
    'join',
    (values, [by, attribute], of) => {
      const texts = attributes(values, attribute, of).map((value) => of.textOf(value));
      return toValue(join(by ? of.textOf(by) : '', [texts], of));
    },
  ],
  ['last', (values) => values.at(-1)],
  ['list', (values) => listOf([...values])],
  ['map', map],
  ['map-attribute', (values, [attribute], of) => listOf(attributes(values, attribute, of), 'generator')],
  ['reject', select(false, false)],
  ['rejectattr', select(true, false)],
  ['reverse', (values) => listOf(values.toReversed(), 'generator')],
  ['select', select(false, true)],
  ['selectattr', select(true, true)],
  ['sort', (values, [reverse], of) => sorted(values, values, isTrue(reverse), of)],
]);

/** Filters of any values. */
export const VALUE_FILTERS: ReadonlyMap<string, ValueFilter> = new Map<string, ValueFilter>([
  [
    'default',
    (value, [otherwise = toValue(''), boolean]) =>
      value.type === 'UndefinedValue' || (isTrue(boolean) && !isTrue(value)) ? otherwise : value,
  ],
  ['dictsort', (value, _, of) => sorted(pairsOf(value), of.itemsOf(value), false, of)],
  [
    'int',
    ({ value }, [otherwise], { plain }) => {
      const inner: unknown = value?.valueOf();
      const number = typeof inner === 'string' ? integerIn(plain(inner)) : Math.trunc(Number(inner ?? 0));
      return number === undefined ? (otherwise ?? toValue(0)) : toValue(number);
    },
  ],
  ['items', (value) => listOf(pairsOf(value), 'generator')],
  [
    'length',
    (value, _, of) =>
      toValue((typeof value.value === 'string' ? [...value.value] : of.itemsOf(value)).length),
  ],
  ['safe', (value, _, of) => toValue(of.textOf(value))],
  ['string', (value, _, of) => toValue(of.textOf(value))],
]);
