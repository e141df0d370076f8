import { hubBytes, pinnedVariant } from '../client/model-facts.ts';
import { hubAllowed } from '../client/catalog-settings.ts';
import { modelIds } from '../client/models.ts';
import { bytes } from '../format.ts';
import { ReloadRow } from '../components/reload-row.tsx';
import { Card } from '../components/card.tsx';

/** Weights that run without a GPU, from docs/models.md: correct answers of 102. */
const MEASURED = [
  { weights: 'SmolLM2 135M, Q4_1', size: 98.4e6, right: 65 },
  { weights: 'Qwen2.5-Coder 0.5B, Q4_K_M', size: 491e6, right: 78 },
];

/** Offers weights larger than the site's, for users with a suitable connection and device. */
export function HubCard() {
  const allowed = hubAllowed.value;
  const larger = modelIds.value.filter((id) => pinnedVariant(id) && hubBytes(id) > 0);
  return (
    <Card title="Larger models">
      <p class="small">
        {allowed
          ? 'Where this device can run them, larger weights come from the model hub: when you load a model, or first ask it.'
          : 'This page uses the weights of this site. The model hub (huggingface.co) has larger ones, for devices that can run them.'}
      </p>
      {larger.length > 0 && (
        <ul class="hub-sizes small">
          {larger.map((id) => (
            <li key={id}>
              {id} <span class="figures">up to {bytes(hubBytes(id))}</span>
            </li>
          ))}
        </ul>
      )}
      <p class="small">Correct answers to 102 plain questions. Without a GPU, larger weights are slower.</p>
      <ul class="hub-sizes small">
        {MEASURED.map(({ weights, size, right }) => (
          <li key={weights}>
            {weights}{' '}
            <span class="figures">
              {bytes(size)}, {right} right
            </span>
          </li>
        ))}
      </ul>
      <p class="small quiet">
        The hub then sees each start of this page and each file that this browser fetches from it. GitHub sees
        the code that a GPU needs. Neither sees what you write. Where the hub is out of reach, the site’s own
        weights are used, and the model’s card says so.
      </p>
      <ReloadRow setting={hubAllowed} value={!allowed}>
        {allowed ? 'Use this site’s weights only' : 'Allow the model hub'}
      </ReloadRow>
    </Card>
  );
}
