import { useSignal } from '@preact/signals';
import { IconButton } from '../components/icon-button.tsx';
import { messageOf, timeAgo } from '../format.ts';
import { conversation, history, storageProblem } from './chat-state.ts';
import { remove } from './send.ts';

export function HistoryList({ onOpen }: { onOpen: (id: string) => void }) {
  const note = useSignal<string | null>(null);
  /** Shows what came of it, or what went wrong. */
  const attempt = async (work: () => Promise<string | null>): Promise<void> => {
    try {
      note.value = await work();
    } catch (error) {
      note.value = `That failed: ${messageOf(error)}`;
    }
  };
  return (
    <>
      {history.value.length === 0 ? (
        <p class="quiet">
          {storageProblem.value ?? 'Nothing kept yet. Conversations stay in this browser only.'}
        </p>
      ) : (
        <ul class="history-list">
          {history.value.map(({ id, title, updatedAt }) => (
            <li key={id}>
              <button
                type="button"
                class="history-open"
                aria-current={id === conversation.value.id ? 'true' : undefined}
                onClick={() => onOpen(id)}
              >
                <span class="history-title">{title}</span>
                <span class="figures">{timeAgo(updatedAt)}</span>
              </button>
              <IconButton
                small
                icon="trash"
                label={`Delete “${title}”`}
                onClick={() => void attempt(() => remove(id).then(() => null))}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        <button
          type="button"
          class="button button-small"
          disabled={history.value.length === 0}
          onClick={() => void attempt(exportAll)}
        >
          Export as JSON
        </button>
        <label class="button button-small file-button">
          Import
          <input
            type="file"
            class="visually-hidden"
            accept="application/json,.json"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file) void attempt(() => importFile(file));
              // The same file may be chosen again.
              currentTarget.value = '';
            }}
          />
        </label>
      </div>
      <p class="small quiet" role="status">
        {note}
      </p>
    </>
  );
}

async function importFile(file: File): Promise<string> {
  const { importConversations } = await import('./transfer.ts');
  return importConversations(file);
}

async function exportAll(): Promise<string> {
  const { exportConversations } = await import('./transfer.ts');
  return exportConversations();
}
