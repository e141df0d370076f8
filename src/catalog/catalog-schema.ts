import { z } from '../util/full-zod.ts';
import { type Kind, KINDS } from '../jobs/kinds.ts';
import { byteCount, sha256Hex, weightFile, weightPath } from './weight-path.ts';

const name = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\w.:@+-]+(\/[\w.:@+-]+)*$/, 'must be letters, digits and . _ - + : @, with / between parts')
  .refine((text) => !text.split('/').some((part) => /^\.{1,2}$/.test(part)), 'must not climb by . or ..');

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' });

const file = z.strictObject({
  path: weightPath,
  bytes: byteCount,
  sha256: sha256Hex,
  url: httpUrl.optional(),
  requantizedFrom: weightFile.strict().optional(),
  role: z.literal('projector', 'must be projector').optional(),
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
const share = z.number().min(0).max(1);
const sampling = z.strictObject({
  topK: z.int().positive().optional(),
  minP: share.optional(),
  repeatPenalty: z.number().positive().max(2).optional(),
});
const defaults = z.strictObject({ temperature: z.number().min(0).max(2).optional(), topP: share.optional() });
const dimensions = z.int().positive().max(65_536);

const variant = z.discriminatedUnion(
  'engine',
  [
    z.looseObject({
      ...base,
      engine: z.literal('wllama'),
      sampling: sampling.optional(),
      keepTemplateText: z.boolean().optional(),
      completionsOnly: z.boolean().optional(),
      kvValues: z
        .int()
        .positive()
        .max(2 ** 31)
        .optional(),
      streamsTogether: z.boolean().optional(),
    }),
    z.looseObject({
      ...base,
      engine: z.literal('transformers'),
      dimensions,
      pooling: z.enum(['mean', 'cls', 'last_token'], 'must be mean, cls or last_token'),
      maxBatchSize: z.int().positive('must be at least 1 text').optional(),
      device: z.enum(['wasm', 'webgpu'], 'must be wasm or webgpu').optional(),
    }),
    z.looseObject({
      ...base,
      engine: z.literal('whisper'),
      device: z.enum(['wasm', 'webgpu'], 'must be wasm or webgpu').optional(),
    }),
    z.looseObject({
      ...base,
      engine: z.literal('web-llm'),
      library: z.union([httpUrl, weightPath], { error: 'must be a URL, or a path below the models folder' }),
      replyPrefix: z.string().optional(),
      keepTemplateText: z.boolean().optional(),
    }),
    z.looseObject({
      ...base,
      engine: z.literal('built-in'),
      languages: z
        .array(z.string().regex(/^[\w-]{2,35}$/, 'must be a language tag'))
        .max(20)
        .optional(),
    }),
    z.looseObject({
      ...base,
      engine: z.literal('upstream'),
      baseUrl: httpUrl,
      model: z.string().min(1),
      dimensions: dimensions.optional(),
      passThrough: z.array(z.int().min(400).max(599)).optional(),
      firstTokenMs: z.int().min(100).max(3_600_000).optional(),
    }),
  ],
  { error: 'must be one of the engines web-llm, wllama, transformers, whisper, built-in and upstream' },
);

const kinds = Object.keys(KINDS) as Kind[];

const model = z.strictObject({
  id: name,
  kind: z.enum(kinds, {
    error: `must be ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(kinds)}`,
  }),
  created: z.int().nonnegative(),
  variants: z.array(variant).min(1, 'must name at least one variant'),
  route: z.enum(['device-first', 'server-first', 'race'], 'must be device-first or server-first').optional(),
  defaults: defaults.optional(),
});

export const catalogSchema = z
  .strictObject({
    ownedBy: z.string().min(1).max(100),
    models: z.array(model),
    aliases: z.record(name, name).optional(),
  })
  .superRefine((catalog, context) => {
    const report = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    const ids = new Set<string>();
    const named = new Map<string, string>();
    for (const [at, { id, kind, variants }] of catalog.models.entries()) {
      if (ids.has(id)) report(['models', at, 'id'], `is taken already: two models are called ${id}`);
      ids.add(id);
      const own = new Set<string>();
      for (const [index, each] of variants.entries()) {
        const path = ['models', at, 'variants', index];
        if (own.has(each.name))
          report([...path, 'name'], `is taken already: two variants of ${id} are called ${each.name}`);
        own.add(each.name);
        const same = weightsOf(each);
        if (named.has(each.name) && named.get(each.name) !== same) {
          report([...path, 'name'], `is taken already by other weights, of another model: ${each.name}`);
        }
        named.set(each.name, same);
        const [made = 'chat', ...others] = makes(each);
        if (made !== kind && !others.includes(kind))
          report([...path, 'engine'], `makes ${KINDS[made].noun} model, and ${id} is for ${kind}`);
        if (!['upstream', 'built-in'].includes(each.engine) && each.files.length === 0 && !each.hub) {
          report([...path, 'files'], 'must name at least one file, or a hub repository');
        }
      }
    }
    const aliases = catalog.aliases ?? {};
    for (const [alias, target] of Object.entries(aliases)) {
      if (ids.has(alias))
        report(['aliases', alias], 'is the id of a model, and cannot be another name as well');
      // One step only: an alias of an alias could go round in a circle.
      else if (Object.hasOwn(aliases, target))
        report(['aliases', alias], `leads to another alias, ${target}: name a model's id`);
      else if (!ids.has(target)) report(['aliases', alias], `leads to ${target}, which is no model's id`);
    }
  });

/** The likeliest first. A server's variant with a vector length makes vectors. */
function makes(each: z.output<typeof variant>): z.output<typeof model>['kind'][] {
  if (each.engine === 'whisper') return ['transcription'];
  if (each.engine === 'transformers') return ['embedding'];
  if (each.engine !== 'upstream') return ['chat'];
  return each.dimensions === undefined ? ['chat', 'transcription'] : ['embedding'];
}

/** What tells weights apart. How they are downloaded and estimated may differ between copies of a variant. */
function weightsOf({ files, ...others }: z.output<typeof variant>): string {
  return JSON.stringify({
    ...others,
    kvValues: undefined,
    streamsTogether: undefined,
    files: files.map((each) => ({ ...each, requantizedFrom: undefined })),
  });
}
