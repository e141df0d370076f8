import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announce } from '../announce.ts';
import { downloads } from '../client/downloads.ts';
import { askToPersist, refreshStorage, storage, type StorageState } from '../client/storage.ts';
import { storedWeights } from '../client/stored-weights.ts';
import { ProgressBar } from '../components/progress-bar.tsx';
import { bytes } from '../format.ts';
import { StoredWeightsList } from './stored-weights-list.tsx';
import { Card } from '../components/card.tsx';
import { Button } from '../components/button.tsx';

const REFUSED = 'Not granted. Browsers decide by use: installing or bookmarking the site helps.';

export function StorageCard() {
  const loaded = Object.values(downloads.value).filter(({ phase }) => phase === 'ready').length;
  const stored = storedWeights.value;
  useEffect(() => void refreshStorage(), [loaded, stored]);
  return (
    <Card title="Storage of this site">
      {storage.value && <Usage {...storage.value} />}
      <StoredWeightsList />
      {storage.value && <Persistence {...storage.value} />}
    </Card>
  );
}

function Usage({ usedBytes, quotaBytes }: StorageState) {
  return (
    <>
      <ProgressBar label="Storage used" value={usedBytes} max={quotaBytes} />
      <p class="figures">
        {bytes(usedBytes)} of {bytes(quotaBytes)} that the browser allows
      </p>
    </>
  );
}

function Persistence({ persisted }: StorageState) {
  const refused = useSignal(false);
  const ask = async (): Promise<void> => {
    refused.value = !(await askToPersist());
    announce(refused.value ? REFUSED : 'Kept.');
  };
  if (persisted) return <p class="small">Kept: the browser clears it only when you ask it to.</p>;
  return (
    <div class="stack">
      <p class="small quiet">
        The browser may clear it when the disk runs short; the weights would then be downloaded again.
      </p>
      <div class="row">
        <Button onClick={() => void ask()}>Ask to keep it</Button>
        {refused.value && <span class="small quiet">{REFUSED}</span>}
      </div>
    </div>
  );
}
