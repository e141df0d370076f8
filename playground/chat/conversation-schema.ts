import { z } from 'zod/mini';
import { fromDataUrl } from '../pictures/data-url.ts';
import { MAX_PICTURE_BYTES, MAX_PICTURES, PICTURE_TYPES } from '../pictures/picture.ts';
import { LIMITS, type Conversation } from './conversation.ts';

/** Excludes names of built-in properties, such as `__proto__`. */
const id = z.string().check(z.regex(/^(?!constructor$)[a-z0-9][\w-]{0,99}$/i, 'not an id'));
const text = z.string().check(z.maxLength(LIMITS.chars));
const name = z.string().check(z.maxLength(1000));
const figure = z.nullable(z.number());
/** Milliseconds since the epoch, within what a Date can hold. */
const time = z.number().check(z.minimum(0), z.maximum(8.64e15));

const turnBase = { id, parent: z.nullable(id), createdAt: time, content: text };
const logprob = z.object({
  token: name,
  logprob: z.number(),
  bytes: z.nullable(z.array(z.number()).check(z.maxLength(LIMITS.items))),
});
/** A Blob in the storage, a `data:` URL in a file. */
const picture = z.pipe(
  z.union([z.instanceof(Blob), z.pipe(z.string(), z.transform(fromDataUrl))]),
  z.instanceof(Blob, { message: 'no picture' }).check(
    z.refine(({ type }) => PICTURE_TYPES.includes(type), 'no picture'),
    z.refine(({ size }) => size <= MAX_PICTURE_BYTES, 'too large a picture'),
  ),
);
const turnSchema = z.discriminatedUnion('role', [
  z.object({
    ...turnBase,
    role: z.literal('user'),
    pictures: z.optional(
      z.array(z.object({ name, blob: picture })).check(z.maxLength(MAX_PICTURES, 'too many pictures')),
    ),
  }),
  z.object({ ...turnBase, role: z.literal('tool'), toolCallId: name, name }),
  z.object({
    ...turnBase,
    role: z.literal('assistant'),
    model: name,
    reasoning: z.optional(text),
    problem: z.nullable(text),
    finishReason: z.nullable(name),
    toolCalls: z.array(z.object({ id: name, name, arguments: text })).check(z.maxLength(LIMITS.items)),
    logprobs: z
      .array(z.object({ ...logprob.shape, top_logprobs: z.array(logprob).check(z.maxLength(LIMITS.items)) }))
      .check(z.maxLength(LIMITS.tokens)),
    stats: z.object({
      firstTokenMs: figure,
      totalMs: z.number(),
      promptTokens: figure,
      cachedTokens: figure,
      completionTokens: figure,
      tokensPerSecond: figure,
      fingerprint: z.nullable(name),
    }),
  }),
]);

/** A conversation from a file or the storage. Unknown fields are dropped. */
export const conversationSchema = z
  .object({
    id,
    title: name,
    createdAt: time,
    updatedAt: time,
    turns: z
      .record(id, turnSchema)
      .check(z.refine((turns) => Object.keys(turns).length <= LIMITS.turns, 'too many turns')),
    chosen: z.record(z.union([z.literal(''), id]), id),
  })
  .check(
    z.refine(isTree, {
      path: ['turns'],
      message: 'the turns are no tree: each has its own id and a parent before it',
    }),
    z.refine(choosesChildren, {
      path: ['chosen'],
      message: 'a turn is chosen that is no answer to its parent',
    }),
  );

/** Every turn is reached from its first turn: no parent is missing, none is its own descendant. */
function isTree({ turns }: Conversation): boolean {
  const rooted = new Set<string>();
  for (const [key, turn] of Object.entries(turns)) {
    if (turn.id !== key) return false;
    const path: string[] = [];
    for (let at: string | null = key; at !== null && !rooted.has(at); at = turns[at]?.parent ?? null) {
      if (!turns[at] || path.length > LIMITS.turns) return false;
      path.push(at);
    }
    for (const each of path) rooted.add(each);
  }
  return true;
}

function choosesChildren({ turns, chosen }: Conversation): boolean {
  return Object.entries(chosen).every(
    ([parent, child]) => turns[child] && (turns[child].parent ?? '') === parent,
  );
}
