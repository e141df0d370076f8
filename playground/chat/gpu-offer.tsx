import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { CatalogModel, Variant } from '../../src/catalog.ts';
import { memoryShortage } from '#catalog';
import { catalogModel, chosenVariant, weightBytes } from '../client/model-facts.ts';
import { setAndReload, hubAllowed } from '../client/catalog-settings.ts';
import { findDevice, type DeviceFacts } from '../client/find-device.ts';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { bytes, timeToDownload } from '../format.ts';
import { preference } from '../preferences.ts';
import { Button } from '../components/button.tsx';

const declined = preference('gpu-offer-declined', false);

/** Offers, until answered once, larger weights that this device's GPU could run if the model hub were allowed. */
export function GpuOffer({ model }: { model: string }) {
  const device = useSignal<DeviceFacts | null>(null);
  const asks = !hubAllowed.value && !declined.value;
  useEffect(() => {
    if (asks) void findDevice().then((found) => (device.value = found));
  }, [asks]);
  const offer = useKeptFocus<HTMLElement>();
  const variant = asks && device.value && forGpu(catalogModel(model), device.value);
  if (!variant || chosenVariant(model)?.name === variant.name) return null;
  return (
    <section class="card stack" aria-labelledby="gpu-offer" tabIndex={-1} ref={offer}>
      <p id="gpu-offer">
        This device’s GPU can run a larger model as {model}: <strong>{variant.name}</strong>,{' '}
        {bytes(weightBytes(variant))} from the model hub (huggingface.co),{' '}
        {timeToDownload(weightBytes(variant))}.
      </p>
      <div class="row">
        <Button onClick={() => setAndReload(hubAllowed, true)}>Allow the model hub</Button>
        <Button look="quiet" onClick={() => (declined.value = true)}>
          Not now
        </Button>
        <span class="small quiet">Allowing it reloads this page.</span>
      </div>
    </section>
  );
}

/** The first weights of a model on the hub that need a GPU and run on this one. */
function forGpu(model: CatalogModel | undefined, { gpu, memoryGiB }: DeviceFacts): Variant | undefined {
  if (!gpu || gpu.fallback) return undefined;
  return model?.variants.find(({ hub, needs: { webgpu, features = [], memoryBytes = 0 } = {} }) => {
    const runs = features.every((feature) => gpu.features.includes(feature));
    return hub && webgpu && runs && memoryShortage(memoryBytes, memoryGiB) === undefined;
  });
}
