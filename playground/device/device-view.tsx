import './device.css';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { engineStatus } from '../client/localtext.ts';
import { bytes } from '../format.ts';
import { findDevice, type DeviceFacts } from '../client/find-device.ts';
import { GpuDetails } from './gpu-details.tsx';
import { meaning } from './meaning.ts';
import { SpeedTest } from './speed-test.tsx';
import { Fact } from '../components/fact.tsx';
import { PageHead } from '../components/page-head.tsx';
import { Card } from '../components/card.tsx';

export function DeviceView() {
  const facts = useSignal<DeviceFacts | null>(null);
  useEffect(() => void findDevice().then((found) => (facts.value = found)), []);
  const found = facts.value;
  return (
    <div class="page">
      <PageHead title="Device">What this browser offers to a model, and what that means for it.</PageHead>
      {!found ? (
        <p class="quiet">Looking…</p>
      ) : (
        <>
          <ul class="meanings">
            {meaning(found).map(({ good, title, text }) => (
              <li key={title} class="card" data-hue={good ? 'jade' : 'amber'}>
                <h2 class="model-name">
                  <span class="dot" aria-hidden="true" />
                  {title}
                </h2>
                <p class="small">{text}</p>
              </li>
            ))}
          </ul>
          <SpeedTest />
          <Card title="Found">
            <dl class="facts">
              <Fact name="GPU">{found.gpu ? found.gpu.name : 'none that WebGPU can use'}</Fact>
              <Fact name="Cross-origin isolated">{found.isolated ? 'yes' : 'no'}</Fact>
              <Fact name="Logical cores">{found.cores}</Fact>
              <Fact name="Memory">
                {found.memoryGiB === null ? 'not reported by this browser' : `${found.memoryGiB} GB or more`}
              </Fact>
              <Fact name="Storage">
                {found.storage
                  ? `${bytes(found.storage.usedBytes)} of ${bytes(found.storage.quotaBytes)} used`
                  : 'not reported by this browser'}
              </Fact>
              <Fact name="Service worker">
                {found.serviceWorker ? 'controls this page' : 'not in control of this page'}
              </Fact>
              <Fact name="Engine">
                {engineStatus.value?.epoch ? <code>{engineStatus.value.epoch}</code> : 'not started'}
              </Fact>
            </dl>
            {found.gpu && <GpuDetails gpu={found.gpu} />}
          </Card>
        </>
      )}
    </div>
  );
}
