import './caption-bar.css';
import { useEffect } from 'preact/hooks';
import { voiceModel } from '../client/speech-model.ts';
import { ErrorText } from '../components/error-text.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { pauseSpeech, stopSpeech } from './speaker.ts';
import { speechProblem, spoken, TALK } from './spoken.ts';
import { useEscape } from './use-escape.ts';

/** The sentence that is heard, with Pause and Stop. The speech ends with it. */
export function CaptionBar() {
  const { lines = [], current = -1, paused = false } = spoken.value ?? {};
  const isSpeaking = spoken.value !== null;
  // In a conversation by voice, Escape ends that.
  useEscape(isSpeaking && spoken.value?.id !== TALK, stopSpeech);
  useEffect(() => stopSpeech, []);
  return (
    <>
      <LoadCard model={voiceModel.value} />
      <ErrorText alert text={speechProblem.value} model={voiceModel.value} />
      {isSpeaking && (
        <div class="caption-bar" role="group" aria-label="Speech">
          {/* No live region: a screen reader would talk over the voice. */}
          <p class="caption" dir="auto">
            {lines[current] ?? <span class="quiet">Speaking…</span>}
          </p>
          <IconButton
            icon={paused ? 'play' : 'pause'}
            label={paused ? 'Continue' : 'Pause'}
            onClick={() => pauseSpeech(!paused)}
          />
          <IconButton icon="stop" label="Stop (Esc)" onClick={stopSpeech} />
        </div>
      )}
    </>
  );
}
