import { useEffect } from 'preact/hooks';
import {
  addError,
  addNote,
  cancelChosen,
  chosenModel,
  hubOffers,
  reading,
  refreshAddedModels,
  chooseFiles,
  lookUp,
  sourceText,
} from '../client/added-models.ts';
import { ChosenModelForm } from './chosen-model-form.tsx';
import { useDrop } from '../components/use-drop.ts';
import { HubOffers } from './hub-offers.tsx';
import { SourceForm } from './source-form.tsx';
import { ErrorText } from '../components/error-text.tsx';
import { hubAllowed } from '../client/catalog-settings.ts';
import { parseSource } from './parse-source.ts';
import { Card } from '../components/card.tsx';
import { Button } from '../components/button.tsx';

/** Adds a user's model: a file (by button, drag and drop or paste), a repository of the hub, or a URL. */
export function AddModelCard() {
  const { handlers, overClass } = useDrop(takeTransfer, false);
  const chosen = chosenModel.value;
  useEffect(() => {
    void refreshAddedModels();
    const onPaste = (event: ClipboardEvent): void => {
      const inField = event.target instanceof HTMLElement && event.target.matches('input, textarea');
      const files = event.clipboardData?.files.length ?? 0;
      if (event.clipboardData && (!inField || files > 0) && takeTransfer(event.clipboardData))
        event.preventDefault();
    };
    document.addEventListener('paste', onPaste);
    return () => document.removeEventListener('paste', onPaste);
  }, []);
  return (
    <Card title="Your own model" class={`drop-zone ${overClass}`} {...handlers}>
      <ErrorText alert small={false} text={addError.value} />
      {addNote.value !== null && <p class="small">{addNote.value}</p>}
      {chosen ? (
        <ChosenModelForm key={chosen.details.suggestedId} chosen={chosen} />
      ) : hubOffers.value ? (
        <HubOffers key={hubOffers.value[0]?.hub} offers={hubOffers.value} />
      ) : (
        <SourceForm />
      )}
      {reading.value !== null && (
        <div class="row">
          <span class="small">Reading the header of {reading.value}…</span>
          <Button look="quiet" onClick={cancelChosen}>
            Stop
          </Button>
        </div>
      )}
    </Card>
  );
}

/** Handles dropped or pasted data. @returns whether it can be a model */
function takeTransfer(transfer: DataTransfer): boolean {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.());
  const folder = entries.find((entry) => entry?.isDirectory);
  if (folder) {
    addError.value = `${folder.name} is a folder. Open it, and drop its GGUF files: all parts of a split model together.`;
    return true;
  }
  const files = [...transfer.files];
  if (files.length > 0) {
    void chooseFiles(files);
    return true;
  }
  const text = transfer.getData('text/plain');
  const source = parseSource(text);
  if (!source) return false;
  sourceText.value = text.trim();
  if ('hub' in source && hubAllowed.peek()) void lookUp(source);
  return true;
}
