import { invalidField, requestError, ServiceError, unsupported } from '../../errors/service-error.ts';
import type { ChatJob, TokenLogprob } from '../../jobs/chat.ts';
import { literalCharacter, tokenTerminal } from '../../util/gbnf.ts';
import type { ReplyEvent } from '../reply-parts.ts';
import type { EngineEvent } from '../../protocol/service-dependencies.ts';
import type { UsageCounter } from './admission.ts';

/** Maximum characters of a scored prompt: its grammar has an element for each. */
const MAX_CHARACTERS = 32_768;

/** Text of a prompt, or of a part of it, and its tokens. */
export interface ScoredText {
  text: string;
  logprobs: TokenLogprob[];
}

/**
 * Scores a job's prompt: its text, with the log probability of each token. The engine generates the prompt
 * under a grammar that allows nothing else, in the prompt's own tokens if it can. The first token is
 * generated alone.
 * @param ask runs a job
 * @param counter counts the tokens as they are computed
 * @throws ServiceError 400
 */
export async function* scorePrompt(
  { model, input, topLogprobs = 0 }: ChatJob,
  index: number,
  ask: (job: ChatJob) => AsyncIterable<EngineEvent>,
  counter: Pick<UsageCounter, 'scored'>,
): AsyncGenerator<ReplyEvent, ScoredText> {
  const isTokens = 'tokens' in input;
  const elements = elementsOf(input);
  let begun = false;

  async function* generate(
    prompt: string,
    from: number,
    begin: number,
    maxTokens: number,
    spells = 'prompt' in input,
  ): AsyncGenerator<ReplyEvent, ScoredText> {
    const part: ScoredText = { text: '', logprobs: [] };
    const rest = elements.slice(from);
    const job: ChatJob = {
      kind: 'chat',
      model,
      input: { prompt },
      sampling: { temperature: 0, topP: 1 },
      constraint: {
        kind: 'grammar',
        gbnf: `root ::= ${isTokens ? rest.join(' ') : `"${rest.join('')}"`}`,
        ...(spells && 'prompt' in input && { spells: { text: input.prompt, from: begin } }),
      },
      topLogprobs,
      maxTokens,
    };
    try {
      for await (const event of ask(job)) {
        if (event.type === 'waiting' || (event.type === 'accepted' && !begun)) yield { index, ...event };
        if (event.type === 'accepted') begun = true;
        if (event.type !== 'delta') continue;
        counter.scored(event.delta.tokens);
        part.text += event.delta.text;
        part.logprobs.push(...(event.delta.logprobs ?? []));
      }
    } catch (error) {
      // llama.cpp cannot generate a token by its id if the token is part of a character. Any tokens may spell
      // the text then.
      if (!spells || !isRefused(error)) throw error;
      return yield* generate(prompt, from, begin, maxTokens, false);
    }
    return part;
  }

  try {
    const start: ScoredText = elements.length > 0 ? yield* generate('', 0, 0, 1) : { text: '', logprobs: [] };
    // An empty text is part of a character, which cannot precede the rest.
    const first = start.text === '' ? { text: '', logprobs: [] } : withoutSpace(start, input);
    const from = isTokens ? first.logprobs.length : Array.from(first.text).length;
    const most = isTokens ? elements.length - from : sizeOf(input) + 1;
    const rest =
      from < elements.length ? yield* generate(first.text, from, first.logprobs.length, most) : null;
    const logprobs = [...first.logprobs, ...(rest?.logprobs ?? [])];
    return { text: first.text + (rest?.text ?? ''), logprobs: ofWholePrompt(input, logprobs) };
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw unsupported('echo', 'needs an engine that can score prompts, with `logprobs` or token ids');
  }
}

/** Whether a grammar was refused. */
const isRefused = (error: unknown): boolean =>
  error instanceof ServiceError && error.wire.param === 'response_format';

/** Removes the space that some vocabularies put before a text. */
function withoutSpace(part: ScoredText, input: ChatJob['input']): ScoredText {
  const { text, logprobs } = part;
  if (!('prompt' in input) || input.prompt.startsWith(text) || !` ${input.prompt}`.startsWith(text))
    return part;
  const shifted = logprobs.map(({ token, bytes, ...score }) => ({
    ...score,
    token: token.slice(1),
    bytes: bytes?.slice(1) ?? null,
  }));
  return { text: text.slice(1), logprobs: shifted };
}

function elementsOf(input: ChatJob['input']): string[] {
  if ('tokens' in input) return input.tokens.map(tokenTerminal);
  if (!('prompt' in input)) return [];
  if (input.prompt.length > MAX_CHARACTERS) {
    const rule = `may have ${MAX_CHARACTERS} characters with \`echo\` and \`logprobs\`, and has ${input.prompt.length}`;
    throw invalidField('prompt', rule);
  }
  return Array.from(input.prompt, literalCharacter);
}

const encoder = new TextEncoder();

/** Size of a prompt: tokens, or bytes of text. */
function sizeOf(input: ChatJob['input']): number {
  if ('tokens' in input) return input.tokens.length;
  return 'prompt' in input ? encoder.encode(input.prompt).length : 0;
}

/** Removes the token that ends the text. @throws ServiceError 400 when the context ended before the prompt */
function ofWholePrompt(input: ChatJob['input'], logprobs: readonly TokenLogprob[]): TokenLogprob[] {
  let remaining = sizeOf(input);
  const promptLogprobs = logprobs.filter(({ token, bytes }) => {
    if (remaining <= 0) return false;
    remaining -= 'tokens' in input ? 1 : (bytes ?? encoder.encode(token)).length;
    return true;
  });
  if (remaining <= 0) return promptLogprobs;
  const message = 'The prompt is longer than the model’s maximum context length. Shorten the messages.';
  throw requestError(400, message, 'context_length_exceeded', 'messages');
}
