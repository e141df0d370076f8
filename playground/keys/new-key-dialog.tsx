import { Dialog } from '../components/dialog.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { CodeBlock } from '../markdown/code-block.tsx';
import '../markdown/markdown.css';

export interface NewKey {
  label: string;
  key: string;
  /** Whether it replaces another key. */
  replaced: boolean;
}

export function NewKeyDialog({ issued, onClose }: { issued: NewKey; onClose: () => void }) {
  const example = `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: location.origin + '/v1',
  // fetch: localtext.fetch, // of start(): an abort then ends the computation at once
  apiKey: '${issued.key}',
  dangerouslyAllowBrowser: true,
});`;
  return (
    <Dialog title={`The key of ${issued.label}`} stays onClose={onClose}>
      <p class="small">
        Copy it now: it is not shown again.
        {issued.replaced && ' The old key stays valid for a day.'}
      </p>
      <div class="row row-between new-key">
        <code>{issued.key}</code>
        <CopyButton text={issued.key} label="Copy the key" caption="Copy" />
      </div>
      <CodeBlock text={example} lang="ts" />
    </Dialog>
  );
}
