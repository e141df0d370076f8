import { hubAllowed, setAndReload, speechAdded } from '../client/catalog-settings.ts';
import { speechModel, speechState, voiceModel } from '../client/speech-model.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { ReloadRow } from '../components/reload-row.tsx';
import { Card } from '../components/card.tsx';
import { Button } from '../components/button.tsx';

const LINE = 'start({ catalog: extendCatalog(defaultCatalog, speech) })';

/** Shows what speech to text still needs, and how to get it. Renders nothing if nothing is missing. */
export function SpeechSetup() {
  if (speechState.value === 'absent') return speechAdded.value ? <OtherTab /> : <NoModel />;
  if (speechState.value === 'no weights') return <NoWeights />;
  return null;
}

function NoModel() {
  return (
    <Card title="This site has no model for speech to text yet.">
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
    </Card>
  );
}

/** The leading tab chooses the models. */
function OtherTab() {
  return (
    <Card title="Another tab of this site runs without the speech model.">
      <p class="small">Reload the site’s other tabs, or close them.</p>
    </Card>
  );
}

function NoWeights() {
  const model = speechModel.value ?? '';
  return (
    <Card title={`The weights of ${model} are not on this site.`}>
      <p class="small">Download them where the site is built, and reload this page:</p>
      <CodeBlock text={`npx localtext pull ${model}`} lang="sh" />
      <p class="small">
        In a clone of the repository,{' '}
        <code>python3 test/support/speech/weights/weights.py public/models</code> writes weights for English
        alone, without the model hub.
      </p>
      {!hubAllowed.value && (
        <div class="row">
          <Button onClick={() => setAndReload(hubAllowed, true)}>Allow the model hub</Button>
          <span class="small quiet">
            This browser then downloads them from huggingface.co, about 45 MB. Reloads this page; reload the
            site’s other tabs too.
          </span>
        </div>
      )}
    </Card>
  );
}

export function NoVoice() {
  const model = voiceModel.value ?? '';
  return (
    <Card title={`The voice ${model} is not on this site.`}>
      <p class="small">Download it (14 MB) where the site is built, and reload this page:</p>
      <CodeBlock text={`npx localtext pull ${model}`} lang="sh" />
    </Card>
  );
}
