import { decoded } from './url-path.ts';
import { isObject, type Schema } from './schema-children.ts';

/** Value at a path of keys; undefined: none. */
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

/** The keys of a JSON pointer in a URL fragment. */
const pointerKeys = (reference: string): string[] =>
  decoded(reference.slice(1))
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
