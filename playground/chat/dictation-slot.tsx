import { useEffect, useState } from 'preact/hooks';
import { speechModel, speechState } from '../client/speech-model.ts';
import { sendProblem } from './send.ts';

type Dictation = typeof import('../speech/dictation.tsx').Dictation;

/** The microphone, whose code is fetched once there is a speech model. */
export function DictationSlot({ onText }: { onText: (text: string) => void }) {
  const [loaded, setLoaded] = useState<{ Dictation: Dictation } | null>(null);
  const model = speechState.value === 'usable' ? speechModel.value : null;
  useEffect(() => {
    if (model !== null) void import('../speech/dictation.tsx').then(setLoaded, () => undefined);
  }, [model]);
  if (!loaded || model === null) return null;
  return (
    <loaded.Dictation model={model} onText={onText} onProblem={(problem) => (sendProblem.value = problem)} />
  );
}
