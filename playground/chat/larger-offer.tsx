import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { defaultCatalog, type Variant } from '../../src/catalog.ts';
import { reportedMemoryGiB, unmetNeed } from '#catalog';
import { catalogModel, chosenVariant, weightBytes } from '../client/model-facts.ts';
import { setAndReload, hubAllowed } from '../client/catalog-settings.ts';
import { findDevice, type DeviceFacts } from '../client/find-device.ts';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { bytes, timeToDownload } from '../format.ts';
import { preference } from '../preferences.ts';
import { Button } from '../components/button.tsx';
import { settings } from './chat-state.ts';

const declined = preference('larger-offer-declined', false);

/** Chat models of the default catalog, which lists the largest first. */
const SMALLEST_FIRST = defaultCatalog.models
  .filter(({ kind }) => kind === 'chat')
  .map(({ id }) => id)
  .toReversed();

interface Offer {
  id: string;
  variant: Variant;
}

/** Offers, until answered once, larger weights that this device could run if the model hub were allowed. */
export function LargerOffer({ model }: { model: string }) {
  const device = useSignal<DeviceFacts | null>(null);
  const asks = !hubAllowed.value && !declined.value;
  useEffect(() => {
    if (asks) void findDevice().then((found) => (device.value = found));
  }, [asks]);
  const card = useKeptFocus<HTMLElement>();
  const offer = asks && device.value && offerFor(model, device.value);
  if (!offer || chosenVariant(offer.id)?.name === offer.variant.name) return null;
  const { id, variant } = offer;
  const accept = (): void => {
    settings.value = { ...settings.value, model: id };
    setAndReload(hubAllowed, true);
  };
  return (
    <section class="card stack" aria-labelledby="larger-offer" tabIndex={-1} ref={card}>
      <p id="larger-offer">
        This device’s {variant.needs?.webgpu ? 'GPU' : 'processor'} can run a larger model as {id}:{' '}
        <strong>{variant.name}</strong>, {bytes(weightBytes(variant))} from the model hub (huggingface.co),{' '}
        {timeToDownload(weightBytes(variant))}.
      </p>
      <div class="row">
        <Button onClick={accept}>Allow the model hub</Button>
        <Button look="quiet" onClick={() => (declined.value = true)}>
          Not now
        </Button>
        <span class="small quiet">Allowing it reloads this page.</span>
      </div>
    </section>
  );
}

/** Weights on the hub that this device can run: of the model, else of the smallest other one that has some. */
function offerFor(model: string, device: DeviceFacts): Offer | undefined {
  if (!SMALLEST_FIRST.includes(model)) return undefined;
  const reported = { ...device, memoryGiB: reportedMemoryGiB(navigator) };
  const offers = [model, ...SMALLEST_FIRST].flatMap((id): Offer[] => {
    const variant = catalogModel(id)?.variants.find((each) => each.hub && !unmetNeed(each, reported));
    return variant ? [{ id, variant }] : [];
  });
  return offers[0];
}
