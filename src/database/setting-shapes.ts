import * as z from '#base/zod';
import { KINDS, type ModelKind } from '#jobs';
import type { Settings } from './database.ts';

const text = z.string();
const number = z.number();
const kinds = Object.values(KINDS).flatMap<ModelKind>(({ models }) => models);

/** The fields that readers of a variant rely on. The engine checks its own. */
const file = z.looseObject({ path: text, bytes: number, sha256: text });
const variant = z.looseObject({ engine: text, name: text, contextLength: number, files: z.array(file) });
const model = z.looseObject({ id: text, kind: z.enum(kinds), created: number, variants: z.array(variant) });
const models = z.array(model);
const facts = z.looseObject({ capabilities: z.array(text) });
const added = z.looseObject({ id: text, name: text, bytes: number, created: number });
const wllama = z.extend(variant, { engine: z.literal('wllama') });

/** Shapes of the settings. A tuple has the shape of the entries of a list. */
const SHAPES = {
  catalog: z.looseObject({ ownedBy: text, models, aliases: z.optional(z.record(text, text)) }),
  prefer: [text],
  upstreamKeys: z.record(text, text),
  'engine-facts': z.looseObject({ epoch: text, models: z.record(text, facts) }),
  'added-models': [z.looseObject({ model: added, variant: wllama })],
} satisfies Record<keyof Settings, z.ZodMiniType | [z.ZodMiniType]>;

/**
 * Returns a stored setting without the entries of a list that have another shape; undefined if its own shape
 * differs. Another script of the site, or another build, may have written it.
 */
export function knownPart(name: keyof Settings, stored: unknown): unknown {
  const isKnown = (value: unknown, shape: z.ZodMiniType): boolean => {
    const { success, error } = shape.safeParse(value);
    const message = `localtext: the stored setting ${name}, or an entry of it, is left out, as it has an unknown shape. Another script or build has written it.`;
    if (!success) console.warn(message, error);
    return success;
  };
  const shape = SHAPES[name];
  if (!Array.isArray(shape)) return isKnown(stored, shape) ? stored : undefined;
  if (!Array.isArray(stored)) return isKnown(stored, z.array(z.unknown())) ? stored : undefined;
  return stored.filter((entry) => isKnown(entry, shape[0]));
}
