export type Schema = Record<string, unknown>;

export const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const SCHEMA_MAPS =
  'properties patternProperties $defs definitions dependentSchemas dependencies'.split(' ');
export const SCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMAS =
  'items additionalItems additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties'.split(
    ' ',
  );

interface Child {
  schema: unknown;
  keys: readonly [string] | readonly [string, string];
  /** The keys as errors write them: `items[0]`, `properties.name`. */
  at: string;
}

/** What stands where a schema has others. */
export function* children(schema: Schema): Generator<Child> {
  for (const key of SCHEMA_MAPS) {
    const map = schema[key];
    for (const [name, child] of Object.entries(isObject(map) ? map : {}))
      // Before draft 2019-09 a dependency was a schema or a list of names.
      if (key !== 'dependencies' || !Array.isArray(child))
        yield { schema: child, keys: [key, name], at: `${key}.${name}` };
  }
  for (const key of [...SCHEMA_LISTS, ...SCHEMAS]) {
    const child = schema[key];
    // Draft 7 has the elements of a tuple in `items`.
    if (Array.isArray(child) && (key === 'items' || SCHEMA_LISTS.includes(key)))
      for (const [index, each] of child.entries())
        yield { schema: each, keys: [key, `${index}`], at: `${key}[${index}]` };
    else if (child !== undefined && !SCHEMA_LISTS.includes(key))
      yield { schema: child, keys: [key], at: key };
  }
}

/** Undefined: nothing is there. */
export function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** The schema that a reference names by a JSON pointer from the root; undefined: none. */
export function targetOf(reference: string, root: unknown): Schema | boolean | undefined {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  const found = valueAt(root, pointerKeys(reference));
  return isObject(found) || typeof found === 'boolean' ? found : undefined;
}

/** The keys of a JSON pointer in a URL fragment. A `%` that begins no escape is taken as it is. */
function pointerKeys(reference: string): string[] {
  let pointer = reference.slice(1);
  try {
    pointer = decodeURIComponent(pointer);
  } catch {}
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
