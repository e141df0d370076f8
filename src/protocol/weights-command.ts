import { MAX_NAME_LENGTH } from './local-paths.ts';
import * as z from '#base/zod';

const MAX_FILES = 100;

const HASH_RULE = 'must be the SHA-256 of the file in 64 hex digits';
const hashSchema = z.string(HASH_RULE).check(z.regex(/^[0-9a-f]{64}$/i, HASH_RULE));

/** Name of a model, a variant, a file or a place. */
const nameSchema = z.string().check(z.minLength(1), z.maxLength(MAX_NAME_LENGTH));

/** A repository of the model hub, `owner/name`. */
const hubSource = z.strictObject({
  type: z.literal('hub'),
  repository: nameSchema,
  /** File of the repository; null if it has one model, or a usual one. */
  file: z.nullable(nameSchema),
  /** Commit or branch; null for `main`. */
  revision: z.nullable(nameSchema),
});

const modelSource = z.discriminatedUnion('type', [
  /** Files of this device, by name. The page passes them to the holder of the ticket: `added-files.ts`. */
  z.strictObject({
    type: z.literal('files'),
    names: z.array(nameSchema).check(z.maxLength(MAX_FILES)),
    ticket: nameSchema,
  }),
  /** Signed URLs have more than 1,000 characters. */
  z.strictObject({ type: z.literal('url'), url: z.string().check(z.maxLength(16_384)), sha256: hashSchema }),
  hubSource,
]);

/** Commands to the weight store, as the engine worker checks them: any script of the origin can send one. */
export const commandSchema = z.discriminatedUnion('type', [
  /** The models of a repository. */
  z.strictObject({ type: z.literal('offers'), source: hubSource }),
  /** Facts from the headers of a model's files. */
  z.strictObject({ type: z.literal('inspect'), source: modelSource }),
  z.strictObject({ type: z.literal('list') }),
  /**
   * `target`: a variant's name, or a model's id for the variant chosen for it. `remove`: the id of an added
   * model.
   */
  z.strictObject({
    type: z.enum(['delete', 'pause', 'resume', 'cancel', 'describe', 'remove']),
    target: nameSchema,
  }),
  /** Gives an added model another id. */
  z.strictObject({ type: z.literal('rename'), target: nameSchema, id: nameSchema }),
  /**
   * Adds a model of the user; answered with `progress` and then `added`. `id`: null: derived from its name.
   */
  z.strictObject({ type: z.literal('add'), id: z.nullable(nameSchema), source: modelSource }),
  /** One file of a model, or its description. */
  z.strictObject({ type: z.literal('import'), name: nameSchema, blob: z.instanceof(Blob) }),
]);

/** The rule that a field of a command breaks. */
export const commandRule = (issue: z.core.$ZodRawIssue): string =>
  issue.code === 'too_big' ? `must not be longer than ${issue.maximum}` : 'is missing, or not valid';

/** A command; `WeightsReplies` has the answers. */
export type WeightsCommand = z.infer<typeof commandSchema>;
export type CommandOf<T extends WeightsCommand['type']> = WeightsCommand & { type: T };
export type ModelSource = z.infer<typeof modelSource>;
