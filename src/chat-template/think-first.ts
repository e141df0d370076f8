import type { Accepted, ChatEvent, ChatJob, Delta, Reasoning, TokenLogprob, Events } from '#jobs';
import { omitNulls, TokenTexts } from '#base';
import type { ClientText } from './client-text.ts';
import { ThoughtSplitter } from './thought-splitter.ts';
import { closing, ending, opening, tagTokens, type ThinkTags } from './think-tags.ts';

/** A rendered prompt, and the state in which its reply begins. */
export interface ChatOpening {
  prompt: string;
  /** `isInside`: the prompt ends inside the reasoning. Null if the reply has no reasoning, or if it has ended. */
  thinking: { tags: ThinkTags; isInside: boolean } | null;
  /** Set if the prompt has marked results of tools, and the reply is free to repeat the marks. */
  hasResults?: boolean;
}

/** Whether reasoning is enabled, for a model that can reason. */
export const asksToThink = ({ enableThinking, effort = 'none' }: Reasoning = {}): boolean =>
  enableThinking ?? effort !== 'none';

/**
 * Extends the prompt of a model that can reason with the opening tag and with what was already generated.
 * @param marked the prompt, with the marks of clients' characters
 * @param opens whether to add the opening tag if the prompt does not end with it; some templates leave it to the model
 */
export function openReply(
  marked: string,
  tags: ThinkTags,
  { thoughts, resume }: Pick<ChatJob, 'thoughts' | 'resume'>,
  opens: boolean,
  clientText: ClientText,
): ChatOpening {
  const text = clientText.mark(resume?.text ?? '');
  if (!thoughts && text !== '')
    return { prompt: clientText.broken(marked + text), thinking: answering(tags) };
  const isOpen = marked.trimEnd().endsWith(tags.open);
  const isInside = isOpen || opens || thoughts !== undefined;
  const opened = isInside && !isOpen ? marked + opening(tags) : marked;
  const whole = opened + clientText.mark(thoughts?.text ?? '');
  return thoughts?.ended
    ? { prompt: clientText.broken(whole + ending(tags) + text), thinking: answering(tags) }
    : { prompt: clientText.broken(whole), thinking: { tags, isInside } };
}

/** State of a reply whose reasoning has ended. A tag that closes the answer may follow. */
const answering = (tags: ThinkTags): ChatOpening['thinking'] =>
  tags.answerTags ? { tags, isInside: false } : null;

/** Completes a prompt so that the answer follows at once, without reasoning. */
export const answerPrompt = ({ prompt, thinking }: ChatOpening): string =>
  thinking?.isInside ? prompt + ending(thinking.tags) : prompt;

type Form = Pick<ChatJob, 'constraint' | 'topLogprobs'>;

/** One request to the engine, which generates a reply or a part of it. */
export interface Completion extends Form {
  prompt: string;
  maxTokens?: number;
  /** Control tokens to include in the reply's text. */
  shownTokens?: string[];
}

export const toCompletion = (
  { maxTokens, constraint, topLogprobs }: ChatJob,
  prompt: string,
): Completion => ({ prompt, ...omitNulls({ maxTokens, constraint, topLogprobs }) });

/** Appends generated text to a prompt, in which only the allowed special tokens stay special. */
export type Append = (prompt: string, text: string, allowed: readonly string[]) => string;

export type Complete = (completion: Completion) => Events<'chat'>;

type Done = Extract<ChatEvent, { type: 'done' }>;

/** Fraction of a reply's tokens for reasoning, by effort (docs/capabilities.md). */
const SHARES = { none: 0, minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 };

/** What an engine does for a reply with reasoning. */
export interface ThinkingEngine {
  complete: Complete;
  append: Append;
  /** Tokens of prompt and reply together. */
  contextLength: number;
}

/**
 * Generates a reply that may begin with reasoning. If the answer is constrained, or the reasoning has used up its
 * tokens, the answer is a second completion, after the closing tag.
 */
export async function* thinkFirst(
  job: ChatJob,
  prompt: string,
  { tags, isInside: beginsInside }: NonNullable<ChatOpening['thinking']>,
  { complete, append, contextLength }: ThinkingEngine,
): Events<'chat'> {
  const splitter = new ThoughtSplitter(tags, beginsInside, job.thoughts?.ended ?? job.resume !== undefined);
  let generated = 0;
  /** Log probabilities of withheld text, which may be part of a tag. */
  let withheld: TokenLogprob[] = [];

  /** Emits withheld text, which turned out not to be a tag. */
  function* rest(): Generator<ChatEvent> {
    const { reasoning, text } = splitter.flush();
    if (reasoning) yield { type: 'delta', delta: { text: reasoning, tokens: 0, isReasoning: true } };
    if (text) yield answerDelta(text, 0);
  }

  /** Maximum number of reasoning tokens in a reply of `room` tokens. A dead engine may already have spent some. */
  function budgetIn(room: number): number {
    const { maxTokens = Infinity, reasoning, resume } = job;
    const before = resume?.tokens ?? 0;
    const off = reasoning?.enableThinking === false ? 'none' : undefined;
    const share = SHARES[reasoning?.effort ?? off ?? 'medium'];
    return Math.floor((Math.min(maxTokens, room) + before) * share) - before;
  }

  function* splitDelta({ text, tokens, logprobs }: Delta): Generator<ChatEvent> {
    generated += tokens;
    if (logprobs) withheld.push(...logprobs);
    const wasInside = splitter.isInside;
    const split = splitter.push(text);
    const isThought = wasInside || splitter.isInside || split.reasoning !== '';
    if (isThought) {
      withheld = split.text === '' ? [] : [...(logprobs ?? [])];
      yield { type: 'delta', delta: { text: split.reasoning, tokens, isReasoning: true } };
    }
    if (split.text !== '' || !isThought) yield answerDelta(split.text, isThought ? 0 : tokens);
  }

  function answerDelta(text: string, tokens: number): ChatEvent {
    const logprobs = text === '' ? [] : tokensOf(text, withheld.splice(0));
    return { type: 'delta', delta: { text, tokens, ...(logprobs.length > 0 && { logprobs }) } };
  }

  /** Generates the answer. @param thought end of the completion with the reasoning; null if there was none */
  async function* answer(thought: Done | null): AsyncGenerator<ChatEvent> {
    const { maxTokens } = job;
    const remaining = maxTokens === undefined ? Infinity : maxTokens - generated;
    if (thought && remaining < 1) return yield { ...thought, finishReason: 'length' };
    const part = toCompletion(job, closedPrompt());
    splitter.close();
    for await (const event of complete({ ...part, ...(remaining < Infinity && { maxTokens: remaining }) })) {
      if (event.type === 'accepted' && !thought) yield event;
      if (event.type === 'delta') yield part.constraint ? event : answered(event.delta);
      if (event.type !== 'done') continue;
      const { text } = splitter.flush();
      if (text) yield answerDelta(text, 0);
      yield thought ? afterThoughts(thought, event) : event;
    }
  }

  function answered({ text, tokens, logprobs = [] }: Delta): ChatEvent {
    withheld.push(...logprobs);
    return answerDelta(splitter.push(text).text, tokens);
  }

  /** Prompt with the exact reasoning text, so that its state is in the cache. */
  function closedPrompt(): string {
    const start = append(prompt, splitter.thoughts, tagTokens(tags));
    return start + (splitter.isInside ? ending(tags) : closing(tags));
  }

  const whole = toCompletion(job, prompt);
  const { constraint, topLogprobs: _, ...plain } = whole;
  // A constraint that begins with the reply leaves no room for reasoning.
  if (constraint && !splitter.isInside) return yield* complete(whole);
  let budget = budgetIn(contextLength);
  if (splitter.isInside && budget < 1) return yield* answer(null);
  /** Whether the reasoning has used up its tokens, or ended before a constrained answer. */
  const isAnswerNext = (wasInside: boolean): boolean =>
    splitter.isInside ? generated >= budget : wasInside && constraint !== undefined;

  const meter = new ThoughtMeter();
  for await (const event of complete(constraint ? plain : whole)) {
    if (event.type === 'accepted') {
      meter.accept(event.accepted);
      budget = budgetIn(contextLength - event.accepted.promptTokens);
      yield event;
    } else if (event.type === 'delta') {
      const wasInside = splitter.isInside;
      yield* splitDelta(event.delta);
      if (isAnswerNext(wasInside)) break;
    } else if (splitter.isInside && event.finishReason === 'stop') {
      // The model ended its turn inside the reasoning.
      return yield* answer(event);
    } else {
      yield* rest();
      return yield event;
    }
  }
  yield* answer(meter.done(generated));
}

/** Measures a completion that is stopped before its `done` event. */
class ThoughtMeter {
  readonly #began = performance.now();
  #acceptedAt = this.#began;
  #accepted: Pick<Accepted, 'promptTokens' | 'cachedTokens'> = { promptTokens: 0 };

  accept(accepted: Accepted): void {
    this.#accepted = accepted;
    this.#acceptedAt = performance.now();
  }

  done(completionTokens: number): Done {
    const { promptTokens, cachedTokens = 0 } = this.#accepted;
    const prefillMs = this.#acceptedAt - this.#began;
    return {
      type: 'done',
      finishReason: 'stop',
      usage: { promptTokens, cachedTokens, completionTokens },
      timings: { prefillMs, decodeMs: performance.now() - this.#acceptedAt },
    };
  }
}

/** Selects the last tokens, which make up `text`. The others are tags and the space beside them. */
function tokensOf(text: string, logprobs: readonly TokenLogprob[]): TokenLogprob[] {
  const texts = new TokenTexts();
  const ends: number[] = [];
  for (const logprob of logprobs) ends.push((ends.at(-1) ?? 0) + texts.next(logprob).length);
  const start = (ends.at(-1) ?? 0) - text.length;
  const last = ends.findLastIndex((end, index) => end <= start && end > (ends[index - 1] ?? 0));
  return logprobs.slice(last + 1);
}

function afterThoughts({ usage, timings }: Done, answer: Done): Done {
  return {
    ...answer,
    usage: { ...usage, completionTokens: usage.completionTokens + answer.usage.completionTokens },
    timings: { ...timings, decodeMs: timings.decodeMs + answer.timings.prefillMs + answer.timings.decodeMs },
  };
}
