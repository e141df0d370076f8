import { useSignal } from '@preact/signals';
import { addedModel } from '../client/added-models.ts';
import { addedModelError, removeAdded, renameAdded, saveAdded } from '../client/manage-added.ts';
import { TextField } from '../components/field.tsx';

/** What can be done with a model that the user added. */
export function AddedModelActions({ id }: { id: string }) {
  const name = useSignal<string | null>(null);
  const error = addedModelError.value;
  const hidden = <span class="visually-hidden"> {id}</span>;
  return (
    <div class="stack">
      {name.value === null ? (
        <div class="row">
          <button type="button" class="button button-small" onClick={() => (name.value = id)}>
            Rename{hidden}
          </button>
          {/* An embedding model is a folder of files. */}
          {!addedModel(id)?.embedding && (
            <button type="button" class="button button-small" onClick={() => void saveAdded(id)}>
              Save as a file{hidden}
            </button>
          )}
          <button
            type="button"
            class="button button-small button-danger"
            onClick={() => void removeAdded(id)}
          >
            Remove{hidden}
          </button>
        </div>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const to = name.value?.trim() ?? '';
            void renameAdded(id, to).then((renamed) => renamed && (name.value = null));
          }}
        >
          <TextField
            label="New id"
            value={name.value}
            hint="Requests that name the old one are answered with 404."
            onInput={(value) => (name.value = value)}
          />
          <div class="row">
            <button type="submit" class="button" disabled={name.value.trim() === ''}>
              Rename
            </button>
            <button type="button" class="button button-quiet" onClick={() => (name.value = null)}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {error?.id === id && (
        <p role="alert" class="error-text small">
          {error.message}
        </p>
      )}
    </div>
  );
}
