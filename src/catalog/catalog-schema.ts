import { z } from '#base/full-zod';
import { KINDS, type ModelKind } from '#jobs';
import { type EngineRules, httpUrl } from './engine-rules.ts';
import { byteCount, sha256Hex, weightPath } from './weight-path.ts';

const name = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\w.:@+-]+(\/[\w.:@+-]+)*$/, 'must be letters, digits and . _ - + : @, with / between parts')
  .refine((text) => !text.split('/').some((part) => /^\.{1,2}$/.test(part)), 'must not climb by . or ..');

const file = z.strictObject({
  path: weightPath,
  bytes: byteCount,
  sha256: sha256Hex,
  url: httpUrl.optional(),
  role: z.enum(['projector', 'adapter'], { error: 'must be projector or adapter' }).optional(),
});

const hub = z.strictObject({
  repository: z
    .string()
    .regex(/^[\w.-]+\/[\w.-]+$/, 'must be owner/name')
    .refine((text) => !text.includes('..'), 'must not contain ..'),
  revision: z
    .string()
    .regex(/^[\w.-]+$/, 'must be a branch, tag or commit')
    .refine((text) => !text.includes('..'), 'must not contain ..'),
  folder: weightPath,
  files: z.array(weightPath).min(1).optional(),
  projector: weightPath.optional(),
  sha256: z.record(weightPath, sha256Hex).optional(),
  approximateBytes: byteCount,
});

const needs = z.strictObject({
  webgpu: z.boolean().optional(),
  features: z.array(z.string().min(1)).optional(),
  memoryBytes: byteCount.optional(),
  cores: z.int().positive().optional(),
});

const base = {
  name,
  license: z.string().min(1),
  contextLength: z.int('must be a whole number of tokens').positive('must be more than 0 tokens'),
  files: z.array(file),
  hub: hub.optional(),
  needs: needs.optional(),
  optIn: z.boolean().optional(),
};
const defaults = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
});

export type CatalogEngines = Readonly<Record<string, EngineRules>>;

const listed = (words: readonly string[], type: 'conjunction' | 'disjunction'): string =>
  new Intl.ListFormat('en-GB', { type }).format(words);

function variantSchema(engines: CatalogEngines) {
  const [first, ...others] = Object.entries(engines).map(([engine, { fields }]) =>
    z.looseObject({ ...base, ...fields, engine: z.literal(engine) }),
  );
  if (!first) throw new TypeError('A catalog needs at least one engine.');
  const error = `must be one of the engines ${listed(Object.keys(engines), 'conjunction')}`;
  return z.discriminatedUnion('engine', [first, ...others], { error });
}

const MODEL_KINDS = [...new Set<ModelKind>(Object.values(KINDS).flatMap(({ models }) => models))];

const modelSchema = (engines: CatalogEngines) =>
  z.strictObject({
    id: name,
    kind: z.enum(MODEL_KINDS, { error: `must be ${listed(MODEL_KINDS, 'disjunction')}` }),
    created: z.int().nonnegative(),
    variants: z.array(variantSchema(engines)).min(1, 'must name at least one variant'),
    route: z.enum(['device-first', 'server-first'], 'must be device-first or server-first').optional(),
    defaults: defaults.optional(),
  });

type ParsedModel = z.output<ReturnType<typeof modelSchema>>;
type ParsedVariant = ParsedModel['variants'][number];
type Report = (path: (string | number)[], message: string) => void;

/** Creates the schema of a catalog with these engines. */
export const catalogSchema = (engines: CatalogEngines) =>
  z
    .strictObject({
      ownedBy: z.string().min(1).max(100),
      models: z.array(modelSchema(engines)),
      aliases: z.record(name, name).optional(),
    })
    .superRefine(({ models, aliases = {} }, context) => {
      const report: Report = (path, message) => context.addIssue({ code: 'custom', path, message });
      const ids = new Set<string>();
      const choosers = new Set(models.flatMap(({ id, kind }) => (kind === 'embedding' ? id : [])));
      /** Weights by the variant's name, which are the same in all models. */
      const weights = new Map<string, string>();
      for (const [at, model] of models.entries()) {
        const { id, variants } = model;
        if (ids.has(id)) report(['models', at, 'id'], `is taken already: two models are called ${id}`);
        ids.add(id);
        for (const [index, each] of variants.entries()) {
          const { name: own, toolChooser } = each;
          const fault = (field: string, message: string): void =>
            report(['models', at, 'variants', index, field], message);
          if (variants.slice(0, index).some((other) => other.name === own))
            fault('name', `is taken already: two variants of ${id} are called ${own}`);
          const same = weightsOf(each);
          if ((weights.get(own) ?? same) !== same)
            fault('name', `is taken already by other weights, of another model: ${own}`);
          weights.set(own, same);
          if (toolChooser !== undefined && !choosers.has(String(toolChooser)))
            fault('toolChooser', 'must be the id of an embedding model');
          checkVariant(model, each, engines, fault);
        }
      }
      checkAliases(ids, aliases, report);
    });

function checkVariant(
  { id, kind }: ParsedModel,
  variant: ParsedVariant,
  engines: CatalogEngines,
  fault: (field: string, message: string) => void,
): void {
  const rules = engines[variant.engine];
  const [usual = 'chat', ...others] = rules?.kinds(variant) ?? [];
  if (usual !== kind && !others.includes(kind))
    fault('engine', `makes ${KINDS[usual].noun} model, and ${id} is for ${kind}`);
  if (rules?.memory && variant.files.length === 0 && !variant.hub)
    fault('files', 'must name at least one file, or a hub repository');
  const adapters = variant.files.flatMap(({ role, sha256 }) => (role === 'adapter' ? [sha256] : []));
  if (new Set(adapters).size < adapters.length)
    fault('files', 'must have each adapter once: two have the same SHA-256');
  const parts = variant.files.filter(({ role }) => role === undefined);
  if (parts.length !== 1 && adapters.length > 0)
    fault('files', 'must have one file of the model beside its adapters');
}

function checkAliases(ids: ReadonlySet<string>, aliases: Record<string, string>, report: Report): void {
  for (const [alias, target] of Object.entries(aliases)) {
    const path = ['aliases', alias];
    if (ids.has(alias)) report(path, 'is the id of a model, and cannot be another name as well');
    // Aliases of aliases are not allowed, as they could form a cycle.
    else if (Object.hasOwn(aliases, target))
      report(path, `leads to another alias, ${target}: name a model's id`);
    else if (!ids.has(target)) report(path, `leads to ${target}, which is no model's id`);
  }
}

/** Identity of a variant's weights. Copies may differ in fields for memory estimates, and in who uses them. */
const weightsOf = (each: ParsedVariant): string =>
  JSON.stringify({ ...each, kvValues: undefined, kvWindow: undefined, optIn: undefined });
