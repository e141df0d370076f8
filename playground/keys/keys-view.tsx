import './keys.css';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refreshModels } from '../client/models.ts';
import { requestLog } from '../requests/request-log.ts';
import { refreshKeys, keyList, keysProblem } from './key-list.ts';
import { IssueForm } from './issue-form.tsx';
import { KeyRow } from './key-row.tsx';
import { NewKeyDialog, type NewKey } from './new-key-dialog.tsx';
import { Button } from '../components/button.tsx';
import { count } from '../format.ts';
import { focusIfLost } from '../components/focus-if-lost.ts';
import { PageHead } from '../components/page-head.tsx';
import { ErrorText } from '../components/error-text.tsx';

/** More rows take seconds to draw. */
const ROWS = 200;

export function KeysView() {
  const shown = useSignal<NewKey | null>(null);
  const rows = useSignal(ROWS);
  const [latest] = requestLog.value;
  useEffect(() => void refreshKeys(), []);
  // Each request may have been the first use of a key, which is stored a moment later.
  useEffect(() => {
    const later = setTimeout(() => void refreshKeys(), 300);
    return () => clearTimeout(later);
  }, [latest?.id, latest?.state]);
  useEffect(() => void refreshModels(), []);
  const show = (key: NewKey): void => {
    shown.value = key;
  };
  const close = (): void => {
    shown.value = null;
    // The button that opened the dialog is disabled until another name is typed.
    focusIfLost(document.getElementById('main'));
  };
  return (
    <div class="page">
      <PageHead title="Keys">
        Every request to <code>/v1</code> carries a key. A key for each application distinguishes
        applications, meters them, and keeps their code as it would be against a real server. Keys are not a
        security boundary: scripts of this origin can read the key store. It has the hashes of the keys that
        are issued here, and the playground’s own key.
      </PageHead>
      <IssueForm onIssued={show} />
      <ErrorText alert small={false} text={keysProblem.value} />
      <section class="stack" aria-labelledby="keys-issued">
        <h2 id="keys-issued">Issued</h2>
        {keyList.value?.length === 0 ? (
          <p class="quiet">None yet.</p>
        ) : (
          <ul class="key-list">
            {keyList.value?.slice(0, rows.value).map((info) => (
              <KeyRow key={info.id} info={info} onRotated={show} />
            ))}
          </ul>
        )}
        {keyList.value && keyList.value.length > rows.value && (
          <Button look="quiet" small onClick={() => (rows.value += ROWS)}>
            {`Show ${ROWS} more of ${count(keyList.value.length)} keys`}
          </Button>
        )}
      </section>
      {shown.value && <NewKeyDialog issued={shown.value} onClose={close} />}
    </div>
  );
}
