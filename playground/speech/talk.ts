import { signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { loadFor } from '../client/downloads.ts';
import { problemOf } from '../problem.ts';
import { listen } from './listen.ts';
import type { Recorder } from './recorder.ts';
import { beginSpeech } from './speaker.ts';
import { TALK } from './spoken.ts';
import { toText } from './subtitles.ts';
import { transcribeSamples } from './transcribe.ts';

/** Sends a text to the chat model, until the signal. @returns the whole reply; null if it failed */
export type Ask = (
  text: string,
  onText: (soFar: string) => void,
  signal: AbortSignal,
) => Promise<string | null>;

export const talkPhase = signal<'off' | 'listening' | 'writing' | 'answering'>('off');
/** The microphone that is on. */
export const talkRecorder = signal<Recorder | null>(null);
let stopping = new AbortController();

/** Begins a conversation by voice: it listens, asks, speaks the reply and listens again. */
export async function startTalk(
  model: string,
  ask: Ask,
  onProblem: (problem: string | null) => void,
): Promise<void> {
  stopTalk();
  const controller = new AbortController();
  stopping = controller;
  onProblem(null);
  talkPhase.value = 'listening';
  announce('Speak. Escape ends the conversation by voice.');
  try {
    await converse(model, ask, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) onProblem(problemOf(error));
  }
  if (!controller.signal.aborted) stopTalk();
}

export function stopTalk(): void {
  stopping.abort();
  if (talkPhase.peek() === 'off') return;
  talkPhase.value = 'off';
  talkRecorder.value = null;
  announce('The conversation by voice has ended.');
}

async function converse(model: string, ask: Ask, stopped: AbortSignal): Promise<void> {
  let next = listenForTurn(stopped, () => undefined);
  for (;;) {
    const samples = await next;
    if (samples === null) return;
    talkPhase.value = 'writing';
    // Shows the progress of a download that the request itself would only wait for.
    void loadFor(model, stopTalk);
    const text = toText(await transcribeSamples(samples, { model, signal: stopped }));
    stopped.throwIfAborted();
    if (text === '') {
      talkPhase.value = 'listening';
      next = listenForTurn(stopped, () => undefined);
      continue;
    }
    talkPhase.value = 'answering';
    const speech = beginSpeech(TALK);
    stopped.addEventListener('abort', () => speech.stop());
    // Speech ends the reply, and is heard from its first word.
    next = listenForTurn(stopped, () => speech.stop());
    // The reply may fail before it is awaited.
    next.catch(() => undefined);
    const reply = await ask(text, (soFar) => speech.grow(soFar), speech.signal);
    if (reply !== null) await speech.finish(reply);
    speech.stop();
    stopped.throwIfAborted();
    talkPhase.value = 'listening';
  }
}

const listenForTurn = (stopped: AbortSignal, onSpeech: () => void): Promise<Float32Array | null> =>
  listen({
    signal: stopped,
    onRecorder: (recorder) => (talkRecorder.value = recorder),
    onSpeech,
    isWaiting: () => talkPhase.peek() === 'listening',
  });
