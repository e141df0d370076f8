import './speech.css';
import '../markdown/markdown.css';
import { setAndReload, speechAdded } from '../client/catalog-settings.ts';
import { speechModel, speechState, voiceModel, voiceState } from '../client/speech-model.ts';
import { sound } from './speech-session.ts';
import { SourceCard } from './source-card.tsx';
import { SpeakCard } from './speak-card.tsx';
import { NoVoice, SpeechSetup } from './speech-setup.tsx';
import { TranscriptCard } from './transcript-card.tsx';
import { Button } from '../components/button.tsx';

export function SpeechView() {
  const chosen = sound.value;
  const isUsable = speechState.value === 'usable';
  return (
    <div class="page" data-hue="coral">
      <header class="page-head">
        <h1>Speech</h1>
        <p>
          {voiceModel.value ?? 'A voice'} speaks texts, and {speechModel.value ?? 'a speech model'}{' '}
          transcribes files and what you say into the microphone. Nothing leaves this device.
        </p>
      </header>
      {speechState.value === 'unknown' && <p class="quiet">Asking…</p>}
      {voiceState.value === 'usable' && <SpeakCard />}
      {voiceState.value === 'no weights' && <NoVoice />}
      <SpeechSetup />
      {isUsable && <SourceCard />}
      {isUsable && chosen && <TranscriptCard key={chosen.url} sound={chosen} />}
      {speechModel.value !== null && speechAdded.value && (
        <div class="row">
          <Button look="quiet" small onClick={() => setAndReload(speechAdded, false)}>
            Remove the speech model from this playground
          </Button>
          <span class="small quiet">Reloads this page. Stored weights can be deleted under Models.</span>
        </div>
      )}
    </div>
  );
}
