/**
 * Schemas of what clients send: as much of zod's API as is used here, in a seventh of its bytes, as a browser fetches the
 * service worker whole. They stop at the first fault, and drop members that they do not name.
 */

/** What is wrong with a value. */
export class Fault {
  /** What the value must be, to follow the field's name: `must be a string`. */
  readonly rule: string;
  readonly isType: boolean;
  /** The value has the right shape and breaks a limit: of several alternatives, the client meant this one. */
  readonly isLimit: boolean;
  /** From the value inward. */
  readonly path: (string | number)[];

  constructor(
    rule: string,
    kind: 'type' | 'value' | 'limit' = 'value',
    path: readonly (string | number)[] = [],
  ) {
    this.rule = rule;
    this.isType = kind === 'type';
    this.isLimit = kind === 'limit';
    this.path = [...path];
  }

  /** The same fault, as its parent's. */
  below(key: string | number): this {
    this.path.unshift(key);
    return this;
  }
}

/** The part of JSON Schema in which the schemas describe themselves, for docs/compatibility.md. */
export interface Description {
  type?: string;
  enum?: readonly unknown[];
  anyOf?: Description[];
  items?: Description;
  properties?: Record<string, Description>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Check {
  /** Undefined: the value keeps to it. */
  broken(value: unknown): string | undefined;
  describe?(type: string | undefined): Description;
}

type Read = (value: unknown) => unknown;

export class Schema<Output = unknown> {
  declare readonly output: Output;
  readonly description: Description;
  readonly isOptional: boolean;
  readonly #read: Read;

  constructor(read: Read, description: Description = {}, isOptional = false) {
    this.#read = read;
    this.description = description;
    this.isOptional = isOptional;
  }

  check(...checks: Check[]): Schema<Output> {
    const { description } = this;
    const described = checks.map((each) => each.describe?.(description.type));
    const isKept: Read = (value) => {
      const [rule] = checks.flatMap((each) => each.broken(value) ?? []);
      return rule === undefined ? value : new Fault(rule, 'limit');
    };
    // An array that is too long is not read.
    const [first, second] =
      description.type === 'array'
        ? [(value: unknown) => (Array.isArray(value) ? isKept(value) : value), this.#read]
        : [this.#read, isKept];
    return new Schema(
      (value) => {
        const read = first(value);
        return read instanceof Fault ? read : second(read);
      },
      Object.assign({}, description, ...described) as Description,
    );
  }

  /** The value as far as the schema names it, or its first fault. */
  parse(value: unknown): Output | Fault {
    return this.#read(value) as Output | Fault;
  }
}

export type Infer<Of> = Of extends Schema<infer Output> ? Output : never;

export type Shape = Record<string, Schema>;
type OptionalKeys<Of extends Shape> = {
  [Key in keyof Of]: undefined extends Infer<Of[Key]> ? Key : never;
}[keyof Of];
type Flat<Of> = { [Key in keyof Of]: Of[Key] };
export type ObjectOutput<Of extends Shape> = Flat<
  { [Key in Exclude<keyof Of, OptionalKeys<Of>>]: Infer<Of[Key]> } & {
    [Key in OptionalKeys<Of>]?: Infer<Of[Key]>;
  }
>;

export class ObjectSchema<Of extends Shape> extends Schema<ObjectOutput<Of>> {
  readonly shape: Of;

  constructor(read: Read, shape: Of) {
    const members = Object.entries(shape);
    super(read, {
      type: 'object',
      properties: Object.fromEntries(members.map(([name, { description }]) => [name, description])),
      required: members.flatMap(([name, { isOptional }]) => (isOptional ? [] : name)),
    });
    this.shape = shape;
  }
}

const typed = <Output>(type: string, noun: string): Schema<Output> =>
  new Schema(
    // oxlint-disable-next-line valid-typeof -- one of the words that typeof gives
    (value) => (typeof value === type ? value : new Fault(`must be ${noun}`, 'type')),
    { type },
  );

export const string = (): Schema<string> => typed('string', 'a string');
export const number = (): Schema<number> => typed('number', 'a number');
export const boolean = (): Schema<boolean> => typed('boolean', 'true or false');
export const unknown = (): Schema<unknown> => new Schema((value) => value);

export function int(): Schema<number> {
  const anyNumber = number();
  return new Schema(
    (value) => {
      const read = anyNumber.parse(value);
      if (read instanceof Fault || Number.isSafeInteger(read)) return read;
      if (!Number.isInteger(read)) return new Fault('must be an integer', 'type');
      const side = read > 0 ? 'at most' : 'at least';
      return new Fault(`must be ${side} ${Math.sign(read) * Number.MAX_SAFE_INTEGER}`, 'limit');
    },
    { type: 'integer' },
  );
}

/** One of these values. `rule`: in place of the list of them. */
export const oneOf = <const Value extends string>(
  values: readonly Value[],
  rule = `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
): Schema<Value> =>
  new Schema((value) => ((values as readonly unknown[]).includes(value) ? value : new Fault(rule)), {
    enum: values,
  });

export const literal = <const Value extends string>(value: Value, rule?: string): Schema<Value> =>
  oneOf([value], rule);

export const array = <Item>(item: Schema<Item>): Schema<Item[]> =>
  new Schema(
    (value) => {
      if (!Array.isArray(value)) return new Fault('must be an array', 'type');
      const read: unknown[] = [];
      for (const [index, each] of value.entries()) {
        const one = item.parse(each);
        if (one instanceof Fault) return one.below(index);
        read.push(one);
      }
      return read;
    },
    { type: 'array', items: item.description },
  );

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const noObject = () => new Fault('must be an object', 'type');

export const object = <Of extends Shape>(shape: Of): ObjectSchema<Of> =>
  new ObjectSchema(reader(shape), shape);

/** Has no other members. */
export const strictObject = <Of extends Shape>(shape: Of): ObjectSchema<Of> => {
  const read = reader(shape);
  const isKnown = (key: string) => Object.hasOwn(shape, key);
  const isStrict: Read = (value) =>
    isObject(value) && !Object.keys(value).every(isKnown) ? new Fault('has unknown members') : read(value);
  return new ObjectSchema(isStrict, shape);
};

function reader(shape: Shape): Read {
  const members = Object.entries(shape);
  return (value) => {
    if (!isObject(value)) return noObject();
    const read: Record<string, unknown> = {};
    for (const [key, schema] of members) {
      const exists = Object.hasOwn(value, key);
      if (!exists && schema.isOptional) continue;
      const member = schema.parse(exists ? value[key] : undefined);
      if (member instanceof Fault) return member.below(key);
      read[key] = member;
    }
    return read;
  };
}

/** An object with any names. At most so many members: they are counted first. `keyRule`: where a name breaks its check. */
export const record = <Value>(
  key: Schema<string>,
  member: Schema<Value>,
  maximum: number,
  keyRule?: string,
): Schema<Record<string, Value>> =>
  new Schema(
    (value) => {
      if (!isObject(value)) return noObject();
      const entries = Object.entries(value);
      if (entries.length > maximum) return new Fault(`must have at most ${maximum} members`, 'limit');
      for (const [name, each] of entries) {
        const fault = key.parse(name);
        if (fault instanceof Fault) return new Fault(keyRule ?? fault.rule, 'value', [name]);
        const read = member.parse(each);
        if (read instanceof Fault) return read.below(name);
      }
      return Object.fromEntries(entries);
    },
    { type: 'object' },
  );

/** The first alternative that fits. `rule`: where the value is like none of them. */
export const union = <const Options extends readonly Schema[]>(
  options: Options,
  rule = 'is like none of the alternatives',
): Schema<Infer<Options[number]>> =>
  new Schema(
    (value) => {
      const faults: Fault[] = [];
      for (const option of options) {
        const read = option.parse(value);
        if (!(read instanceof Fault)) return read;
        faults.push(read);
      }
      const [limit, ...others] = faults.filter(({ isLimit }) => isLimit);
      if (limit && others.length === 0) return limit;
      // The client most likely meant the one that fits deepest.
      let deepest = new Fault(rule);
      for (const fault of faults) if (fault.path.length > deepest.path.length) deepest = fault;
      return deepest;
    },
    { anyOf: options.map(({ description }) => description) },
  );

/** The alternative that the member `key` names. `rule`: where it names none. */
export function discriminatedUnion<const Options extends readonly ObjectSchema<Shape>[]>(
  key: string,
  options: Options,
  rule: string,
): Schema<Infer<Options[number]>> {
  return new Schema(
    (value) => {
      if (!isObject(value)) return noObject();
      const named = Object.hasOwn(value, key) ? value[key] : undefined;
      const option = options.find(({ shape }) =>
        named === undefined ? shape[key]?.isOptional : !(shape[key]?.parse(named) instanceof Fault),
      );
      return option ? option.parse(value) : new Fault(rule, 'value', [key]);
    },
    { anyOf: options.map(({ description }) => description) },
  );
}

export const nullable = <Output>(inner: Schema<Output>): Schema<Output | null> =>
  new Schema((value) => (value === null ? null : inner.parse(value)), {
    anyOf: [inner.description, { type: 'null' }],
  });

export const optional = <Output>(inner: Schema<Output>): Schema<Output | undefined> =>
  new Schema((value) => (value === undefined ? value : inner.parse(value)), inner.description, true);

export const nullish = <Output>(inner: Schema<Output>): Schema<Output | null | undefined> =>
  optional(nullable(inner));

const bound = (side: 'at least' | 'at most', limit: number): string => `must be ${side} ${limit}`;

export const gte = (minimum: number): Check => ({
  broken: (value) => ((value as number) < minimum ? bound('at least', minimum) : undefined),
  describe: () => ({ minimum }),
});

export const lte = (maximum: number): Check => ({
  broken: (value) => ((value as number) > maximum ? bound('at most', maximum) : undefined),
  describe: () => ({ maximum }),
});

const size = (value: unknown): string | unknown[] => value as string | unknown[];

function lengthRule(value: unknown, side: 'at least' | 'at most', limit: number): string {
  const noun = typeof value === 'string' ? 'character' : 'element';
  return `must have ${side} ${limit} ${noun}${limit === 1 ? '' : 's'}`;
}

export const minLength = (limit: number): Check => ({
  broken: (value) => (size(value).length < limit ? lengthRule(value, 'at least', limit) : undefined),
  describe: (type) => (type === 'array' ? { minItems: limit } : { minLength: limit }),
});

/** In characters: a pair of surrogates is one. */
export const maxLength = (limit: number): Check => ({
  broken(value) {
    const isLonger = size(value).length > limit && (typeof value !== 'string' || [...value].length > limit);
    return isLonger ? lengthRule(value, 'at most', limit) : undefined;
  },
  describe: (type) => (type === 'array' ? { maxItems: limit } : {}),
});

export const regex = (pattern: RegExp, rule: string): Check => ({
  broken: (value) => (pattern.test(value as string) ? undefined : rule),
});
