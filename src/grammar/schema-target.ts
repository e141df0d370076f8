import { decoded, isObject, valueAt } from '#base';
import type { Schema } from './forms.ts';

/** The schema that a reference names by a JSON pointer from the root; undefined: none. */
export function targetOf(reference: string, root: unknown): Schema | undefined {
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
