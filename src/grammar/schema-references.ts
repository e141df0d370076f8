import { children, isObject, type Schema } from '../util/schema-children.ts';

const NAMES = ['$id', '$anchor', '$dynamicAnchor', '$recursiveAnchor'];
/** References whose target may depend on the way to them. */
const DYNAMIC = ['$dynamicRef', '$recursiveRef'];
/** Resolves `$id`s that are relative. */
const BASE = 'https://schema.invalid/';

interface Place {
  schema: Schema;
  pointer: string;
  /** The URI of the nearest `$id` around it. */
  base: string;
}

/**
 * Rewrites each reference to an `$anchor` or an `$id` as a pointer from the root, and drops those names: two schemas of a
 * request may have the same. A reference that leads nowhere stays.
 * @param at pointer to the schema from the root that pointers begin at; those outside an inner `$id` begin there already
 */
export function withPointers(root: Schema, at = ''): Schema {
  const isPlain = ({ schema }: Place): boolean =>
    [...NAMES, ...DYNAMIC].every((name) => schema[name] === undefined);
  if (allPlaces(root).every(isPlain)) return root;
  const copy = structuredClone(root);
  const places = allPlaces(copy);
  const pointers = pointersOf(places, at);
  const isKept = ({ schema, base }: Place): boolean =>
    at !== '' && base === places[0]?.base && /^#(?:\/|$)/.test(String(schema['$ref']));
  for (const place of places) {
    const { schema, base } = place;
    if (schema['$ref'] !== undefined && !isKept(place))
      schema['$ref'] = pointerOf(schema['$ref'], base, pointers) ?? schema['$ref'];
    for (const name of DYNAMIC) {
      const pointer = pointerOf(schema[name], base, pointers);
      if (pointer === undefined || schema['$ref'] !== undefined || hasChoice(schema[name], places)) continue;
      schema['$ref'] = pointer;
      delete schema[name];
    }
  }
  for (const { schema } of places) for (const name of NAMES) delete schema[name];
  return copy;
}

/** Whether several places have the anchor of a dynamic reference. */
function hasChoice(reference: unknown, places: readonly Place[]): boolean {
  const name = String(reference).split('#')[1];
  const isOne = ({ schema }: Place): boolean =>
    name ? schema['$dynamicAnchor'] === name : schema['$recursiveAnchor'] === true;
  return places.filter(isOne).length > 1;
}

function allPlaces(root: Schema): Place[] {
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

/** Pointers by the URIs that schemas are named by. */
function pointersOf(places: readonly Place[], at: string): Map<string, string> {
  const pointers = new Map<string, string>();
  for (const { schema, pointer: below, base } of places) {
    const pointer = at + below;
    const { $id, $anchor, $dynamicAnchor } = schema;
    // Draft 7 has anchors in `$id`.
    const isAnchor = typeof $id === 'string' && $id.startsWith('#');
    if (below === '' || (typeof $id === 'string' && !isAnchor)) pointers.set(base, pointer);
    for (const name of [$anchor, $dynamicAnchor, isAnchor ? $id.slice(1) : undefined])
      if (typeof name === 'string') pointers.set(`${base}#${name}`, pointer);
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
  try {
    return new URL(reference, base).href.replace(/#$/, '');
  } catch {
    return null;
  }
}
