import { hubAllowed } from '../client/catalog-settings.ts';
import { speechModel, speechState, voiceModel } from '../client/speech-model.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { Card } from '../components/card.tsx';

/** Says where the missing weights of speech to text come from. Renders nothing if none are missing. */
export function SpeechSetup() {
  if (speechState.value !== 'no weights') return null;
  const model = speechModel.value ?? '';
  return (
    <>
      {hubAllowed.value && (
        <p class="small">
          The model hub (huggingface.co) does not answer. Check the connection, and reload this site’s other
          tabs: they may have been opened without it.
        </p>
      )}
      <details class="small">
        <summary>For a site of your own</summary>
        <p>
          Add <code>speech</code> of <code>localtext/catalog</code> to the catalog, and download the weights
          where the site is built:
        </p>
        <CodeBlock text="start({ catalog: extendCatalog(defaultCatalog, speech) })" lang="ts" />
        <CodeBlock text={`npx localtext pull ${model}`} lang="sh" />
        <p>
          In a clone of the repository,{' '}
          <code>python3 test/support/speech/weights/weights.py public/models</code> writes weights for English
          alone, without the model hub.
        </p>
      </details>
    </>
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
