import { computed, signal, type Signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { loadFor } from '../client/downloads.ts';
import { DEFAULT_SETTINGS, requestBody, type ChatSettings } from '../chat/chat-settings.ts';
import type { Reply } from '../chat/reply.ts';
import { streamReplies } from '../chat/stream-replies.ts';
import { preference } from '../preferences.ts';
import { problemOf } from '../problem.ts';

export interface Side {
  name: string;
  settings: Signal<ChatSettings>;
  reply: Signal<Reply | null>;
  /** Why the reply ended early, for the user; `stopped` if the user stopped it. */
  problem: Signal<string | null>;
  controller: Signal<AbortController | null>;
}

export const sides: readonly Side[] = [
  side('Left', { ...DEFAULT_SETTINGS, temperature: 0, maxTokens: 200 }),
  side('Right', { ...DEFAULT_SETTINGS, temperature: 1, maxTokens: 200 }),
];

export const working = computed(() => sides.some(({ controller }) => controller.value !== null));

export function stopAll(): void {
  for (const { controller } of sides) controller.value?.abort();
}

let asked = '';

/** Asks the sides that failed with a model's load again. */
export function askAgain(model: string): void {
  for (const each of sides)
    if (each.settings.peek().model === model && each.problem.peek() !== null) void askSide(each, asked);
}

export async function ask(prompt: string): Promise<void> {
  asked = prompt;
  await Promise.all(sides.map((each) => askSide(each, prompt)));
  if (sides.every(({ problem }) => problem.value === null)) announce('Both replies are there.');
}

async function askSide({ settings, reply, problem, controller }: Side, prompt: string): Promise<void> {
  const aborter = new AbortController();
  controller.value = aborter;
  reply.value = null;
  problem.value = null;
  try {
    void loadFor(settings.value.model, () => aborter.abort());
    const body = requestBody({ ...settings.value, choices: 1 }, [{ role: 'user', content: prompt }]);
    await streamReplies(body, aborter.signal, ([first]) => {
      reply.value = first ?? null;
    });
  } catch (error) {
    problem.value = aborter.signal.aborted ? 'stopped' : problemOf(error);
  } finally {
    controller.value = null;
  }
}

function side(name: string, initial: ChatSettings): Side {
  return {
    name,
    settings: preference(`compare-${name.toLowerCase()}`, initial),
    reply: signal(null),
    problem: signal(null),
    controller: signal(null),
  };
}
