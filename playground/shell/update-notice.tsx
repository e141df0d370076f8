import { useSignal } from '@preact/signals';
import { engineStatus, handle } from '../client/localtext.ts';
import { messageOf } from '../format.ts';

/** A new version has been downloaded and waits; it takes over once no request runs. */
export function UpdateNotice() {
  const problem = useSignal<string | null>(null);
  if (!engineStatus.value?.updateWaiting) return null;
  const update = async (): Promise<void> => {
    try {
      await (await handle).update();
      location.reload();
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <div class="notice row row-between" role="status">
      <span>{problem.value ?? 'A new version of this page is ready.'}</span>
      <button type="button" class="button button-small" onClick={() => void update()}>
        Use it
      </button>
    </div>
  );
}
