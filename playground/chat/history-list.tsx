import { useSignal } from '@preact/signals';
import { IconButton } from '../components/icon-button.tsx';
import { timeAgo } from '../format.ts';
import { conversation, history } from './chat-state.ts';
import { remove } from './send.ts';

export function HistoryList({ onOpen }: { onOpen: (id: string) => void }) {
  const note = useSignal<string | null>(null);
  const onImport = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    const { importConversations } = await import('./transfer.ts');
    note.value = await importConversations(file);
  };
  return (
    <>
      {history.value.length === 0 ? (
        <p class="quiet">Nothing kept yet. Conversations stay in this browser only.</p>
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
                onClick={() => void remove(id)}
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
          onClick={() => void exportAll().then((text) => (note.value = text))}
        >
          Export as JSON
        </button>
        <label class="button button-small file-button">
          Import
          <input
            type="file"
            class="visually-hidden"
            accept="application/json,.json"
            onChange={({ currentTarget }) => void onImport(currentTarget.files?.[0])}
          />
        </label>
      </div>
      <p class="small quiet" role="status">
        {note}
      </p>
    </>
  );
}

async function exportAll(): Promise<string> {
  const { exportConversations } = await import('./transfer.ts');
  return exportConversations();
}
