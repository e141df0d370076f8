import { copyJson, decoded, isObject, valueAt } from '#base';
import type { Schema, SchemaObject } from './forms.ts';
import { children } from './schema-children.ts';

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

const NAMES = ['$id', '$anchor'];
/** Base of relative `$id`s. */
const BASE = 'https://schema.invalid/';
/**
 * Maximum length of names, references and pointers, each of which is read once for each reference. Longer
 * ones lead nowhere.
 */
const MAX_LENGTH = 1024;

interface Place {
  schema: SchemaObject;
  pointer: string;
  /** The URI of the nearest `$id` around it. */
  base: string;
}

/**
 * Rewrites each reference to an `$anchor` or an `$id` as a pointer from the root, and drops those names: two
 * schemas of a request may have the same. A reference that leads nowhere stays.
 * @param at pointer to the schema from the root at which pointers begin; pointers outside an inner `$id`
 *   begin there already
 */
export function withPointers(root: SchemaObject, at = ''): SchemaObject {
  const isPlain = ({ schema }: Place): boolean => NAMES.every((name) => schema[name] === undefined);
  if (allPlaces(root).every(isPlain)) return root;
  const copy = copyJson(root) as SchemaObject;
  const places = allPlaces(copy);
  const pointers = pointersOf(places, at);
  const isKept = ({ schema, base }: Place): boolean =>
    at !== '' && base === places[0]?.base && /^#(?:\/|$)/.test(String(schema['$ref']));
  for (const place of places) {
    const { schema, base } = place;
    if (schema['$ref'] !== undefined && !isKept(place))
      schema['$ref'] = pointerOf(schema['$ref'], base, pointers) ?? schema['$ref'];
  }
  for (const { schema } of places) for (const name of NAMES) delete schema[name];
  return copy;
}

const isShort = (text: unknown): text is string => typeof text === 'string' && text.length <= MAX_LENGTH;

function allPlaces(root: SchemaObject): Place[] {
  const open: Place[] = [{ schema: root, pointer: '', base: BASE }];
  for (const place of open) {
    const { schema, pointer } = place;
    if (typeof schema['$id'] === 'string' && !schema['$id'].startsWith('#'))
      place.base = resolve(schema['$id'], place.base) ?? place.base;
    for (const { schema: child, keys } of children(schema)) {
      if (!isObject(child)) continue;
      const below = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
      open.push({ schema: child, pointer: pointer + below, base: place.base });
    }
  }
  return open;
}

/** Pointers by the URIs of schemas. An invalid `$id` is ignored: the outer URI applies. */
function pointersOf(places: readonly Place[], at: string): Map<string, string> {
  const pointers = new Map<string, string>();
  for (const { schema, pointer: below, base } of places) {
    const pointer = at + below;
    if (!isShort(pointer)) continue;
    if (!pointers.has(base)) pointers.set(base, pointer);
    const { $id, $anchor } = schema;
    // Draft 7 has anchors in `$id`.
    const inId = typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : undefined;
    for (const name of [$anchor, inId].filter(isShort)) pointers.set(`${base}#${name}`, pointer);
  }
  return pointers;
}

function pointerOf(reference: unknown, base: string, pointers: Map<string, string>): string | undefined {
  if (typeof reference !== 'string') return undefined;
  const [uri = '', fragment = ''] = (resolve(reference, base) ?? '').split(/#(.*)/s);
  const isPointer = fragment === '' || fragment.startsWith('/');
  const pointer = pointers.get(isPointer ? uri : `${uri}#${fragment}`);
  return pointer === undefined ? undefined : `#${encodeURI(pointer)}${isPointer ? fragment : ''}`;
}

function resolve(reference: string, base: string): string | null {
  if (!isShort(reference) || !isShort(base)) return null;
  try {
    return new URL(reference, base).href.replace(/#$/, '');
  } catch {
    return null;
  }
}
