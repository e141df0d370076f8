import { useSignal } from '@preact/signals';
import {
  addedModelError,
  cancelSave,
  removeAdded,
  renameAdded,
  saveAdded,
  savedShare,
} from '../client/manage-added.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { Form } from '../components/form.tsx';
import { TextField } from '../components/field.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { ErrorText } from '../components/error-text.tsx';
import { Button } from '../components/button.tsx';

/** What can be done with a model that the user added. */
export function AddedModelActions({ id }: { id: string }) {
  const name = useSignal<string | null>(null);
  const area = useKeptFocus<HTMLDivElement>();
  const error = addedModelError.value;
  const saved = savedShare.value[id];
  const rename = async (): Promise<void> => {
    if (await renameAdded(id, name.value?.trim() ?? '')) name.value = null;
  };
  const hidden = <span class="visually-hidden"> {id}</span>;
  return (
    <div class="stack" tabIndex={-1} ref={area} role="group" aria-label={`Manage ${id}`}>
      {name.value === null ? (
        <div class="row">
          <Button small onClick={() => (name.value = id)}>
            Rename{hidden}
          </Button>
          {saved === undefined && (
            <Button small onClick={() => void saveAdded(id)}>
              Save as a file{hidden}
            </Button>
          )}
          <ConfirmButton small look="danger" action="Remove" name={id} onConfirm={() => void removeAdded(id)}>
            Its files are deleted from this browser. To use it again, add it again.
          </ConfirmButton>
        </div>
      ) : (
        <Form class="stack" onSubmit={rename}>
          <TextField
            label="New id"
            value={name.value}
            hint="Requests that name the old one are answered with 404."
            onChange={(value) => (name.value = value)}
          />
          <div class="row">
            <Button type="submit" disabled={name.value.trim() === ''}>
              Rename
            </Button>
            <Button look="quiet" onClick={() => (name.value = null)}>
              Cancel
            </Button>
          </div>
        </Form>
      )}
      {saved !== undefined && (
        <div class="row">
          <span class="small">Saving…</span>
          <Button look="quiet" onClick={() => cancelSave(id)}>
            Cancel<span class="visually-hidden"> saving {id}</span>
          </Button>
        </div>
      )}
      {saved !== undefined && <ProgressBar label={`Saving ${id}`} value={saved} max={1} />}
      {error?.id === id && <ErrorText alert text={error.message} />}
    </div>
  );
}
