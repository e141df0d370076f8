import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LocaltextStatus } from '../../src/index.ts';
import { announce } from '../announce.ts';
import { engineStatus, handle } from '../client/localtext.ts';
import { messageOf } from '../format.ts';
import { Button } from '../components/button.tsx';

/** Offers a reload to a new version. */
export function UpdateNotice() {
  const problem = useSignal<string | null>(null);
  const updating = useSignal(false);
  const update = async (): Promise<void> => {
    problem.value = null;
    updating.value = true;
    try {
      await (await handle).update();
      location.reload();
    } catch (error) {
      problem.value = messageOf(error);
      updating.value = false;
    }
  };
  const text = reloadReason(engineStatus.value);
  const shown = text && (problem.value ?? (updating.value ? 'Waiting until no request runs…' : text));
  useEffect(() => {
    if (shown) announce(shown);
  }, [shown]);
  if (!text) return null;
  return (
    <div class="notice row row-between">
      <span>{shown}</span>
      <Button small disabled={updating.value} onClick={() => void update()}>
        {engineStatus.value?.updateWaiting ? 'Use it' : 'Reload'}
      </Button>
    </div>
  );
}

function reloadReason(status: LocaltextStatus | null): string | null {
  if (status?.updateWaiting) return 'A new version of this page is ready.';
  if (status?.buildReplaced) return 'This page has a new version, and parts of the earlier one are gone.';
  return null;
}
