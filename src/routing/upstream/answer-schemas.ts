import { estimateTokens } from '#jobs';
import { catch as orElse, z } from '#base/zod';

/** Schema of an array whose length is checked before its elements. */
export const listOf = <Element extends z.ZodMiniType>(element: Element, most: number) =>
  z.pipe(z.array(z.unknown()).check(z.maxLength(most)), z.array(element));

const text = z.nullish(z.string());
const bytes = z.nullish(listOf(z.int().check(z.minimum(0), z.maximum(255)), 1024));
const tokenLogprob = { token: z.string(), logprob: z.number(), bytes };

const choiceSchema = z.object({
  /** Part of a chat's message. */
  delta: z.nullish(
    z.object({
      content: text,
      /**
       * Reasoning from llama.cpp, older vLLM and DeepSeek; newer vLLM, OpenRouter and Ollama send
       * `reasoning`.
       */
      reasoning_content: z.optional(z.unknown()),
      reasoning: z.optional(z.unknown()),
    }),
  ),
  /** Text of a completion. */
  text,
  finish_reason: text,
  logprobs: z.nullish(
    z.object({
      content: z.nullish(
        listOf(
          z.object({ ...tokenLogprob, top_logprobs: z.optional(listOf(z.object(tokenLogprob), 64)) }),
          1024,
        ),
      ),
      /** Log probabilities of a completion, in the form of the older endpoint. */
      tokens: z.nullish(listOf(z.string(), 1024)),
      token_logprobs: z.nullish(listOf(z.nullable(z.number()), 1024)),
      top_logprobs: z.nullish(listOf(z.nullable(z.catchall(z.object({}), z.number())), 1024)),
    }),
  ),
});

/** One event of a stream. `readUsage` reads its usage. */
export const chunkSchema = z.object({
  error: z.optional(z.unknown()),
  usage: z.optional(z.unknown()),
  choices: z.nullish(listOf(choiceSchema, 16)),
});

/** Its numbers are checked when it is normalised: there may be millions. */
const vector = z.custom<unknown[]>(Array.isArray).check(z.minLength(1));

export const embeddingsSchema = (vectors: number) =>
  z.object({
    usage: z.optional(z.unknown()),
    data: listOf(z.object({ index: z.optional(z.int()), embedding: vector }), vectors),
  });

/** The body of an error. `error` is its text in Ollama and LM Studio; older vLLM has the fields alone, FastAPI `detail`. */
export const errorBodySchema = z.record(z.string(), z.unknown());

export const errorSchema = z.object({
  message: orElse(z.string(), ''),
  code: orElse(z.string().check(z.regex(/^[\w.-]{1,64}$/)), ''),
  param: orElse(z.string().check(z.maxLength(256)), ''),
});

export const count = orElse(z.optional(z.int().check(z.minimum(0))), undefined);
export const details = <Names extends Record<string, z.ZodMiniType>>(names: Names) =>
  orElse(z.nullish(z.object(names)), undefined);

/** Treats invalid usage or counts as missing. */
const usageSchema = details({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: details({ cached_tokens: count }),
  completion_tokens_details: details({ reasoning_tokens: count }),
});

/** Maximum tokens of one character: a token for each of its UTF-8 bytes. */
const MAX_TOKENS_A_CHARACTER = 4;
const MAX_CHARACTERS_A_TOKEN = 16;
/** Tokens that no text shows, such as the end of a reply. */
const HIDDEN_TOKENS = 16;

/**
 * Returns a server's count of the tokens of a text if the text can have so many; otherwise an estimate. A
 * count that is too low would free a key of its limit. A count that is too high would use up the limit.
 * @param serverCount the server's count, if it sent one
 * @param hidden further tokens that the server may have computed without sending them
 */
export function tokensOfText(serverCount: number | undefined, characters: number, hidden = 0): number {
  const isPossible =
    serverCount !== undefined &&
    serverCount >= Math.max(Math.floor(characters / MAX_CHARACTERS_A_TOKEN), Math.sign(characters)) &&
    serverCount <= characters * MAX_TOKENS_A_CHARACTER + HIDDEN_TOKENS + hidden;
  return isPossible ? serverCount : estimateTokens(characters);
}

interface UsageCounts {
  prompt?: number | undefined;
  completion?: number | undefined;
  cached?: number | undefined;
  reasoning?: number | undefined;
}

/**
 * Reads the counts that are possible; the others are left out. `most`: tokens of prompt and reply together.
 */
export function readUsage(usage: unknown, most: number): UsageCounts {
  const counts = usageSchema.parse(usage);
  const possible = (tokens: number | undefined, least = 0): number | undefined =>
    tokens !== undefined && tokens >= least && tokens <= most ? tokens : undefined;
  return {
    // No prompt is empty: a template adds tokens to it.
    prompt: possible(counts?.prompt_tokens, 1),
    completion: possible(counts?.completion_tokens),
    cached: possible(counts?.prompt_tokens_details?.cached_tokens),
    reasoning: possible(counts?.completion_tokens_details?.reasoning_tokens),
  };
}
