import './device.css';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { engineStatus } from '../client/localtext.ts';
import { bytes } from '../format.ts';
import { findDevice, type DeviceFacts } from '../client/find-device.ts';
import { GpuDetails } from './gpu-details.tsx';
import { meaning } from './meaning.ts';
import { SpeedTest } from './speed-test.tsx';

export function DeviceView() {
  const facts = useSignal<DeviceFacts | null>(null);
  useEffect(() => {
    const find = async (): Promise<void> => {
      facts.value = await findDevice();
    };
    void find();
  }, []);
  const found = facts.value;
  return (
    <div class="page">
      <header class="page-head">
        <h1>Device</h1>
        <p>What this browser offers to a model, and what that means for it.</p>
      </header>
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
          <section class="card stack" aria-labelledby="device-found">
            <h2 id="device-found">Found</h2>
            <dl class="facts">
              <dt>GPU</dt>
              <dd>{found.gpu ? found.gpu.name : 'none that WebGPU reaches'}</dd>
              <dt>Cross-origin isolated</dt>
              <dd>{found.isolated ? 'yes' : 'no'}</dd>
              <dt>Logical cores</dt>
              <dd>{found.cores}</dd>
              <dt>Memory</dt>
              <dd>
                {found.memoryGiB === null ? 'not told by this browser' : `${found.memoryGiB} GiB or more`}
              </dd>
              <dt>Storage</dt>
              <dd>
                {found.storage
                  ? `${bytes(found.storage.usedBytes)} of ${bytes(found.storage.quotaBytes)} used`
                  : 'not told by this browser'}
              </dd>
              <dt>Service worker</dt>
              <dd>{found.serviceWorker ? 'controls this page' : 'not in control of this page'}</dd>
              <dt>Engine</dt>
              <dd>{engineStatus.value?.epoch ? <code>{engineStatus.value.epoch}</code> : 'not started'}</dd>
            </dl>
            {found.gpu && <GpuDetails gpu={found.gpu} />}
          </section>
        </>
      )}
    </div>
  );
}
