import './speech.css';
import '../markdown/markdown.css';
import { useEffect } from 'preact/hooks';
import { speechModel, speechState, voiceModel, voiceState } from '../client/speech-model.ts';
import { sound, takeKept } from './speech-session.ts';
import { SourceCard } from './source-card.tsx';
import { PageHead } from '../components/page-head.tsx';
import { SpeakCard } from './speak-card.tsx';
import { NoVoice } from './speech-setup.tsx';
import { TranscriptCard } from './transcript-card.tsx';

export function SpeechView() {
  const chosen = sound.value;
  const canHear = speechState.value !== 'unknown' && speechModel.value !== null;
  useEffect(() => {
    if (canHear) void takeKept();
  }, [canHear]);
  return (
    <div class="page" data-hue="coral">
      <PageHead title="Speech">
        {voiceModel.value ?? 'A voice'} speaks texts, and {speechModel.value ?? 'a speech model'} transcribes
        files and what you say into the microphone. Nothing leaves this device.
      </PageHead>
      {speechState.value === 'unknown' && <p class="quiet">Asking…</p>}
      {voiceState.value === 'usable' && <SpeakCard />}
      {voiceState.value === 'no weights' && <NoVoice />}
      {canHear && <SourceCard />}
      {canHear && chosen && <TranscriptCard key={chosen.url} sound={chosen} />}
    </div>
  );
}
