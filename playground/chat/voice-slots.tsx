import { effect } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { speechModel, speechState, voiceState } from '../client/speech-model.ts';
import { turns } from './chat-state.ts';
import { say, sendProblem, writing } from './send.ts';

/** A component whose code is fetched once it is needed; null until then. */
function useLater<P>(
  needed: boolean,
  load: () => Promise<FunctionComponent<P>>,
): FunctionComponent<P> | null {
  const [loaded, setLoaded] = useState<{ component: FunctionComponent<P> } | null>(null);
  useEffect(() => {
    if (!needed) return;
    load().then(
      (component) => setLoaded({ component }),
      () => undefined,
    );
  }, [needed]);
  return needed && loaded ? loaded.component : null;
}

const onProblem = (problem: string | null): void => {
  sendProblem.value = problem;
};

/** The microphone, if there is a model that hears. */
export function DictationSlot({ onText }: { onText: (text: string) => void }) {
  const model = speechState.value === 'usable' ? speechModel.value : null;
  const Dictation = useLater(model !== null, async () => (await import('../speech/dictation.tsx')).Dictation);
  return Dictation && model !== null ? (
    <Dictation model={model} onText={onText} onProblem={onProblem} />
  ) : null;
}

/** The button of the conversation by voice, if there is a voice, too. */
export function TalkSlot() {
  const model = speechState.value === 'usable' && voiceState.value === 'usable' ? speechModel.value : null;
  const Talk = useLater(model !== null, async () => (await import('../speech/talk-button.tsx')).TalkButton);
  return Talk && model !== null ? <Talk model={model} ask={ask} onProblem={onProblem} /> : null;
}

/** Captions, and the state of the conversation by voice. */
export function TalkBarSlot() {
  const TalkBar = useLater(
    voiceState.value === 'usable',
    async () => (await import('../speech/talk-bar.tsx')).TalkBar,
  );
  return TalkBar && <TalkBar />;
}

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
