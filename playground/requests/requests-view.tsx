import './requests.css';
import { useSignal } from '@preact/signals';
import { PageHead } from '../components/page-head.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { plural } from '../format.ts';
import { route } from '../router.ts';
import { clearRequests, requestLog } from './request-log.ts';
import { RequestDetail } from './request-detail.tsx';
import { RequestRow } from './request-row.tsx';
import { Timeline } from './timeline.tsx';
import { Button } from '../components/button.tsx';

export function RequestsView() {
  // A reply of the chat links to its request by the id that it has sent.
  const openId = useSignal(route.peek().id);
  const page = useKeptFocus<HTMLDivElement>();
  const log = requestLog.value;
  const open = log.find(({ id, requestId }) => id === openId.value || requestId === openId.value);
  return (
    <div class="page" tabIndex={-1} ref={page}>
      <PageHead title="Requests">
        Every request to <code>/v1</code> of this origin, from any tab, while this page is open. The list is
        kept in this page only.
      </PageHead>
      {log.length === 0 ? (
        <p class="card quiet">No request yet. Chat, or ask /v1 from an application in another tab.</p>
      ) : (
        <>
          <Timeline entries={log} />
          <div class="row row-between">
            <h2>{plural(log.length, 'request')}</h2>
            <Button small onClick={clearRequests}>
              Clear
            </Button>
          </div>
          <ol class="request-list">
            {log.map((entry) => (
              <RequestRow key={entry.id} entry={entry} onOpen={() => (openId.value = entry.id)} />
            ))}
          </ol>
        </>
      )}
      {open && (
        <Dialog title={`${open.method} ${open.path}`} side onClose={() => (openId.value = null)}>
          <RequestDetail entry={open} />
        </Dialog>
      )}
    </div>
  );
}
