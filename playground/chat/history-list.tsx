import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { focusIfLost } from '../components/focus-if-lost.ts';
import { FileInput } from '../components/file-input.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { messageOf, timeAgo } from '../format.ts';
import { conversation, history, importConversation, refreshHistory, storageProblem } from './chat-state.ts';
import type { Conversation } from './conversation.ts';
import { remove } from './send.ts';
import { Button } from '../components/button.tsx';

export function HistoryList({ onOpen }: { onOpen: (id: string) => void }) {
  const note = useSignal<string | null>(null);
  /** The last one deleted, while it can be restored. */
  const deleted = useSignal<Conversation | null>(null);
  const status = useRef<HTMLParagraphElement>(null);
  const input = useRef<HTMLInputElement>(null);
  /** Runs `work` and shows its result or error. */
  const attempt = async (work: () => Promise<string | null>): Promise<void> => {
    deleted.value = null;
    try {
      note.value = await work();
    } catch (error) {
      note.value = `That failed: ${messageOf(error)}`;
    }
    focusIfLost(status.current);
  };
  const removeOne = async (id: string, title: string): Promise<string> => {
    deleted.value = (await remove(id)) ?? null;
    return `“${title}” was deleted.`;
  };
  const restore = async (restored: Conversation): Promise<string> => {
    await importConversation(restored);
    await refreshHistory();
    return `“${restored.title}” was restored.`;
  };
  useEffect(() => void refreshHistory(), []);
  const undo = deleted.value;
  const heads = history.value;
  return (
    <>
      {!heads?.length ? (
        <p class="quiet">
          {storageProblem.value ?? (heads && 'Nothing kept yet. Conversations stay in this browser only.')}
        </p>
      ) : (
        <ul class="history-list">
          {heads.map(({ id, title, updatedAt }) => (
            <li key={id}>
              <button
                type="button"
                class="history-open"
                aria-current={id === conversation.value.id ? 'true' : undefined}
                onClick={() => onOpen(id)}
              >
                <span class="history-title" dir="auto">
                  {title}
                </span>
                <span class="figures">{timeAgo(updatedAt)}</span>
              </button>
              <IconButton
                small
                icon="trash"
                label={`Delete “${title}”`}
                onClick={() => void attempt(() => removeOne(id, title))}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        <Button small disabled={!heads?.length} onClick={() => void attempt(exportAll)}>
          Export as JSON
        </Button>
        <Button small onClick={() => input.current?.click()}>
          Import
        </Button>
        <FileInput
          ref={input}
          aria-label="Import"
          accept="application/json,.json"
          onFiles={([file]) => file && void attempt(() => importFile(file))}
        />
      </div>
      <div class="row">
        <p class="small quiet" role="status" tabIndex={-1} ref={status}>
          {note}
        </p>
        {undo && (
          <Button small onClick={() => void attempt(() => restore(undo))}>
            Undo
          </Button>
        )}
      </div>
    </>
  );
}

const transfer = () => import('./transfer.ts');
const importFile = async (file: File): Promise<string> => (await transfer()).importConversations(file);
const exportAll = async (): Promise<string> => (await transfer()).exportConversations();
