import { isObject } from '#base';
import type { SchemaObject } from './forms.ts';

export const SCHEMA_MAPS = 'properties patternProperties $defs definitions'.split(' ');
export const SCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMAS = ['items', 'additionalItems', 'additionalProperties', 'not', 'propertyNames'];

export interface Child {
  schema: unknown;
  keys: readonly [string] | readonly [string, string];
  /** The keys as errors write them: `items[0]`, `properties.name`. */
  at: string;
}

/** Yields the values at the places where a schema may have subschemas. */
export function* children(schema: SchemaObject): Generator<Child> {
  for (const key of SCHEMA_MAPS) {
    const map = schema[key];
    for (const [name, child] of Object.entries(isObject(map) ? map : {}))
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
