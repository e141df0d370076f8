import { effect } from '@preact/signals';
import { speechModel, speechState, voiceState } from '../client/speech-model.ts';
import { lazy } from '../components/lazy.tsx';
import { turns } from './chat-state.ts';
import { say, sendProblem, writing } from './send.ts';

const Nothing = (): null => null;
const Dictation = lazy(async () => (await import('../speech/dictation.tsx')).Dictation, Nothing);
const TalkButton = lazy(async () => (await import('../speech/talk-button.tsx')).TalkButton, Nothing);
const TalkBar = lazy(async () => (await import('../speech/talk-bar.tsx')).TalkBar, Nothing);

const onProblem = (problem: string | null): void => {
  sendProblem.value = problem;
};

/** The microphone, if there is a model that hears. */
export function DictationSlot({ onText }: { onText: (text: string) => void }) {
  const model = speechState.value === 'usable' ? speechModel.value : null;
  return model === null ? null : <Dictation model={model} onText={onText} onProblem={onProblem} />;
}

/** The button of the conversation by voice, if there is a voice, too. */
export function TalkSlot() {
  const model = speechState.value === 'usable' && voiceState.value === 'usable' ? speechModel.value : null;
  return model === null ? null : <TalkButton model={model} ask={ask} onProblem={onProblem} />;
}

/** Captions, and the state of the conversation by voice. */
export const TalkBarSlot = () => (voiceState.value === 'usable' ? <TalkBar /> : null);

/** Sends a message as the composer does, and passes on the reply as it grows. */
async function ask(
  text: string,
  onText: (soFar: string) => void,
  signal: AbortSignal,
): Promise<string | null> {
  const stopWatching = effect(() => {
    const last = turns.value.at(-1);
    if (writing.value && last?.role === 'assistant') onText(last.content);
  });
  const stop = (): void => writing.peek()?.stop();
  signal.addEventListener('abort', stop);
  try {
    if (!(await say(text))) return null;
  } finally {
    stopWatching();
    signal.removeEventListener('abort', stop);
  }
  const reply = turns.peek().at(-1);
  return reply?.role === 'assistant' && reply.problem === null ? reply.content : null;
}
