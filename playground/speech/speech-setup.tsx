import { hubAllowed, setAndReload, speechAdded } from '../client/catalog-settings.ts';
import { speechModel, speechState, voiceModel } from '../client/speech-model.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { ReloadRow } from '../components/reload-row.tsx';

const LINE = 'start({ catalog: extendCatalog(defaultCatalog, speech) })';

/** Shows what speech to text still needs, and how to get it. Renders nothing if nothing is missing. */
export function SpeechSetup() {
  if (speechState.value === 'absent') return speechAdded.value ? <OtherTab /> : <NoModel />;
  if (speechState.value === 'no weights') return <NoWeights />;
  return null;
}

function NoModel() {
  return (
    <section class="card stack" aria-labelledby="speech-setup">
      <h2 id="speech-setup">This site has no model for speech to text yet.</h2>
      <p class="small">Whisper (45 MB) transcribes files and recordings on this device.</p>
      <ReloadRow setting={speechAdded} value={true} primary>
        Add it to this playground
      </ReloadRow>
      <details>
        <summary>For a site of your own</summary>
        <p class="small">
          One line adds it, with <code>extendCatalog</code>, <code>defaultCatalog</code> and{' '}
          <code>speech</code> of <code>localtext/catalog</code>:
        </p>
        <CodeBlock text={LINE} lang="ts" />
      </details>
    </section>
  );
}

/** The leading tab chooses the models. */
function OtherTab() {
  return (
    <section class="card stack" aria-labelledby="speech-setup">
      <h2 id="speech-setup">Another tab of this site runs without the speech model.</h2>
      <p class="small">Reload the site’s other tabs, or close them.</p>
    </section>
  );
}

function NoWeights() {
  const model = speechModel.value ?? '';
  return (
    <section class="card stack" aria-labelledby="speech-setup">
      <h2 id="speech-setup">The weights of {model} are not on this site.</h2>
      <p class="small">Download them where the site is built, and reload this page:</p>
      <CodeBlock text={`npx localtext pull ${model}`} lang="sh" />
      <p class="small">
        In a clone of the repository,{' '}
        <code>python3 test/support/speech/weights/weights.py public/models</code> writes weights for English
        alone, without the model hub.
      </p>
      {!hubAllowed.value && (
        <div class="row">
          <button type="button" class="button" onClick={() => setAndReload(hubAllowed, true)}>
            Allow the model hub
          </button>
          <span class="small quiet">
            This browser then downloads them from huggingface.co, about 45 MB. Reloads this page; reload the
            site’s other tabs too.
          </span>
        </div>
      )}
    </section>
  );
}

export function NoVoice() {
  const model = voiceModel.value ?? '';
  return (
    <section class="card stack" aria-labelledby="voice-setup">
      <h2 id="voice-setup">The voice {model} is not on this site.</h2>
      <p class="small">Download it (14 MB) where the site is built, and reload this page:</p>
      <CodeBlock text={`npx localtext pull ${model}`} lang="sh" />
    </section>
  );
}
