import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { choose, chooseFiles, lookUp, reading, sourceText } from '../client/added-models.ts';
import { setAndReload, hubAllowed } from '../client/catalog-settings.ts';
import { FileInput } from '../components/file-input.tsx';
import { Form } from '../components/form.tsx';
import { TextField } from '../components/field.tsx';
import { parseSource } from './parse-source.ts';
import { Button } from '../components/button.tsx';

const SHA256 = /^[0-9a-f]{64}$/i;

/** Form for the source of a model: this device, a repository of the model hub, or a URL. */
export function SourceForm() {
  const input = useRef<HTMLInputElement>(null);
  const sha256 = useSignal('');
  const problem = useSignal<string | null>(null);
  const source = parseSource(sourceText.value);
  const needsHub = source !== null && 'hub' in source && !hubAllowed.value;
  const isUrl = source !== null && 'url' in source;

  const submit = (): void => {
    if (!source) problem.value = 'Write owner/name, or a URL that begins with https://.';
    else if (needsHub) problem.value = 'Allow the model hub first.';
    else if ('hub' in source) void lookUp(source);
    else if (SHA256.test(sha256.value.trim()))
      void choose({ url: source.url, sha256: sha256.value.trim() }, source.url);
    else problem.value = 'Give the SHA-256 of the file too: 64 hex digits.';
  };
  return (
    <>
      <p class="small">
        Add a chat or embedding model from a GGUF file of this device: drop it here, paste it, or choose it.
        All files of a split model go together. It is copied into this browser’s storage and sent nowhere.
      </p>
      <div class="row">
        <Button onClick={() => input.current?.click()}>Choose a GGUF file…</Button>
      </div>
      <FileInput ref={input} accept=".gguf" multiple onFiles={(files) => void chooseFiles(files)} />
      <Form class="stack" onSubmit={submit}>
        <TextField
          label="Or from the model hub, or a URL"
          value={sourceText.value}
          placeholder="owner/name"
          hint="A repository of the model hub, the address of its page, or the URL of a GGUF file."
          error={isUrl ? null : problem.value}
          onChange={(value) => {
            sourceText.value = value;
            problem.value = null;
          }}
        />
        {isUrl && (
          <TextField
            label="SHA-256 of the file"
            value={sha256.value}
            code
            hint="The file is held to it. This page may download from its own site and from the model hub; other files you can download, and drop here."
            error={problem.value}
            onChange={(value) => {
              sha256.value = value;
              problem.value = null;
            }}
          />
        )}
        {needsHub ? (
          <div class="row">
            <Button onClick={() => setAndReload(hubAllowed, true)}>Allow the model hub</Button>
            <span class="small quiet">
              huggingface.co then sees each start of this page and which files it fetches. Reloads this page;
              reload the site’s other tabs too.
            </span>
          </div>
        ) : (
          <div class="row">
            <Button type="submit" disabled={reading.value !== null}>
              Look up
            </Button>
          </div>
        )}
      </Form>
    </>
  );
}
