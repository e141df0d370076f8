import { voiceState } from '../client/speech-model.ts';
import { IconButton } from '../components/icon-button.tsx';
import { spoken } from './spoken.ts';

/** Speaks a reply. Its code is fetched at the first press. */
export function SpeakButton({ id, text }: { id: string; text: string }) {
  if (voiceState.value !== 'usable' || text.trim() === '') return null;
  const isSpoken = spoken.value?.id === id;
  const toggle = async (): Promise<void> => {
    const { speak, stopSpeech } = await import('./speaker.ts');
    if (isSpoken) stopSpeech();
    else await speak(id, text);
  };
  return (
    <IconButton
      small
      icon={isSpoken ? 'stop' : 'speaker'}
      label={isSpoken ? 'Stop speaking' : 'Speak the reply'}
      onClick={() => void toggle()}
    />
  );
}
