import { bytes, count } from '../format.ts';
import type { GpuFacts } from '../client/find-device.ts';

export function GpuDetails({ gpu }: { gpu: GpuFacts }) {
  return (
    <details>
      <summary>Features and limits of the GPU</summary>
      <div class="stack gpu-details">
        <dl class="facts">
          {gpu.limits.map(({ name, value }) => (
            <div key={name} class="facts-pair">
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{name.endsWith('Size') ? bytes(value) : count(value)}</dd>
            </div>
          ))}
        </dl>
        <ul class="row gpu-features" aria-label="Features">
          {gpu.features.map((feature) => (
            <li key={feature} class="tag">
              {feature}
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
