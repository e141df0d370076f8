import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { addError, chooseFiles, chosenModel, refreshAddedModels } from '../client/added-models.ts';
import { ChosenModelForm } from './chosen-model-form.tsx';

/** Takes a GGUF file by a button or by drag and drop. */
export function AddModelCard() {
  const input = useRef<HTMLInputElement>(null);
  const over = useSignal(false);
  const chosen = chosenModel.value;
  useEffect(() => void refreshAddedModels(), []);
  return (
    <section
      class={`card stack drop-zone ${over.value ? 'drop-zone-over' : ''}`}
      aria-labelledby="add-model-title"
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void chooseFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <h2 id="add-model-title">Your own model</h2>
      <p class="small">
        Add a chat model from a GGUF file of this device: drop it here, or choose it. All files of a split
        model go together. It is copied into this browser’s storage and sent nowhere.
      </p>
      {addError.value !== null && (
        <p role="alert" class="error-text">
          {addError.value}
        </p>
      )}
      <input
        ref={input}
        hidden
        type="file"
        accept=".gguf"
        multiple
        onChange={({ currentTarget }) => {
          void chooseFiles([...(currentTarget.files ?? [])]);
          // The same file may be chosen again.
          currentTarget.value = '';
        }}
      />
      {chosen ? (
        <ChosenModelForm key={chosen.details.suggestedId} chosen={chosen} />
      ) : (
        <div class="row">
          <button type="button" class="button" onClick={() => input.current?.click()}>
            Choose a GGUF file…
          </button>
        </div>
      )}
    </section>
  );
}
