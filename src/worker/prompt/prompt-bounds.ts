import { Template } from '@huggingface/jinja';

import { badRequest } from '../../errors/engine-error.ts';
import type { ChatJob } from '../../protocol/job.ts';

/**
 * Characters of a prompt for each token of the context. Text has about 4; the longest tokens are runs of one character.
 * Tokenizing megabytes takes seconds, in which nothing else runs.
 */
export const MAX_CHARACTERS = 32;

/** Before the prompt is rendered and tokenized. @throws EngineError `context_length_exceeded` */
export function refuseOversized(input: ChatJob['input'], contextLength: number): void {
  const texts = textsOf(input);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  // A message has at least one token, for its role.
  if (texts.length > contextLength) throw exceeded(contextLength, `${texts.length} messages`);
  if (characters <= contextLength * MAX_CHARACTERS) return;
  throw exceeded(contextLength, `${characters} characters, more than ${MAX_CHARACTERS} for each`);
}

function textsOf(input: ChatJob['input']): string[] {
  if ('prompt' in input) return [input.prompt];
  return input.messages.flatMap((message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    return [message.content, ...calls.map((call) => call.arguments)];
  });
}

function exceeded(contextLength: number, size: string) {
  return badRequest(
    `This model's context holds ${contextLength} tokens, and the prompt has ${size}. Shorten the messages.`,
    'messages',
    'context_length_exceeded',
  );
}

/** Rounds of loops and calls of macros in one rendering. Templates take a few for each message; a step takes about 40 µs. */
const MAX_STEPS = 20_000;
const MAX_STEPS_A_MESSAGE = 20;
const MAX_RANGE = 10_000;

/** Names that no template can use. */
const STEP = 'a step';
const RANGE = 'a bounded range';

/** A chat template from a model's file. Its loops are bounded, so that none blocks the engine. */
export class BoundedTemplate {
  readonly #template: Template;

  /** @throws Error when it is no template */
  constructor(source: string) {
    this.#template = new Template(source);
    bound(this.#template.parsed);
  }

  /** @throws Error also when it does not come to an end */
  render(items: { messages: readonly unknown[]; [name: string]: unknown }): string {
    const most = MAX_STEPS + MAX_STEPS_A_MESSAGE * items.messages.length;
    let steps = 0;
    const step = (): void => {
      steps++;
      if (steps > most) throw new Error(`it takes more than ${most} steps`);
    };
    return this.#template.render({ ...items, [RANGE]: boundedRange, [STEP]: step });
  }
}

interface Node {
  type?: unknown;
  value?: unknown;
  body?: unknown;
  property?: unknown;
  computed?: unknown;
}

/** Puts a call of the counter in front of the body of each loop and macro, and replaces its `range` by a bounded one. */
function bound(node: Node): void {
  for (const child of Object.values(node))
    if (typeof child === 'object' && child !== null) bound(child as Node);
  const { type, body, property } = node;
  if (type === 'Identifier' && node.value === 'range') node.value = RANGE;
  // A field of that name.
  if (type === 'MemberExpression' && !node.computed && (property as Node).value === RANGE)
    (property as Node).value = 'range';
  if ((type === 'For' || type === 'Macro') && Array.isArray(body))
    body.unshift({ type: 'CallExpression', callee: { type: 'Identifier', value: STEP }, args: [] });
}

function boundedRange(first: number, second?: number, by = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / by));
  if (!(length <= MAX_RANGE)) throw new Error(`its range() has more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * by);
}

/** Why a model's template cannot be used, as a phrase that follows its name; undefined: it renders a plain message. */
export function templateFault(source: string | null): string | undefined {
  if (source === null) return undefined;
  try {
    new BoundedTemplate(source).render({
      messages: [{ role: 'user', content: 'Hello' }],
      add_generation_prompt: true,
      enable_thinking: false,
      bos_token: '',
      eos_token: '',
    });
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `has a chat template that cannot be used: ${why.slice(0, 200)}`;
  }
}
