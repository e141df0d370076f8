import { hubBytes } from '../client/model-facts.ts';
import { hubAllowed, visionAdded } from '../client/catalog-settings.ts';
import { bytes } from '../format.ts';
import { ReloadRow } from '../components/reload-row.tsx';
import { Card } from '../components/card.tsx';

const VISION_MODEL = 'opal-lynx-4';

/** Offers a chat model with vision. */
export function VisionCard() {
  const added = visionAdded.value;
  return (
    <Card title="Pictures">
      <p class="small">
        {added
          ? `${VISION_MODEL} answers questions about pictures: choose it in the chat, and paste, drop or choose them.`
          : `${VISION_MODEL} (SmolVLM) answers questions about pictures. Experimental: it may answer wrongly, and slowly without a GPU.`}
      </p>
      {added && !hubAllowed.value && (
        <p class="small">
          Its weights (up to {bytes(hubBytes(VISION_MODEL))}) come from the model hub: allow it above, or
          download them where the site is built, by <code>npx localtext pull {VISION_MODEL}</code>.
        </p>
      )}
      <ReloadRow setting={visionAdded} value={!added}>
        {added ? `Do without ${VISION_MODEL}` : `Add ${VISION_MODEL}`}
      </ReloadRow>
    </Card>
  );
}
