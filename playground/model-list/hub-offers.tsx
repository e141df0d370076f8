import { useSignal } from '@preact/signals';
import type { HubOffer } from '../../src/index.ts';
import { cancelChosen, choose, reading } from '../client/added-models.ts';
import { bytes } from '../format.ts';
import { useFocus } from './use-focus.ts';
import { Button } from '../components/button.tsx';
import { Form } from '../components/form.tsx';

/** The most common quantization: small for its quality. */
const USUAL = 'Q4_K_M';

const preselected = (offers: readonly HubOffer[]): HubOffer | undefined => {
  const fitting = offers.filter(({ problem }) => problem === null);
  return fitting.find(({ quantization }) => quantization === USUAL) ?? fitting[0];
};

/** Lists a repository's models; the user selects one. */
export function HubOffers({ offers }: { offers: readonly HubOffer[] }) {
  const file = useSignal(preselected(offers)?.file ?? null);
  const chosen = offers.find((offer) => offer.file === file.value);
  const form = useFocus<HTMLFormElement>();
  const { hub = '', revision = '' } = offers[0] ?? {};
  return (
    <Form
      ref={form}
      tabIndex={-1}
      class="stack"
      aria-label={`Models of ${hub}`}
      onSubmit={() => chosen && choose(chosen, `${hub} ${chosen.file}`)}
    >
      <fieldset class="offers">
        <legend>
          {hub} <span class="quiet small">at commit {revision.slice(0, 7)}</span>
        </legend>
        {offers.map((offer) => (
          <label key={offer.file} class="offer">
            <input
              type="radio"
              name="offer"
              disabled={offer.problem !== null}
              checked={offer.file === file.value}
              onChange={() => (file.value = offer.file)}
            />
            <span>
              <strong>{offer.quantization ?? 'unknown quantization'}</strong>{' '}
              <span class="figures">{bytes(offer.bytes)}</span>{' '}
              {offer.kind === 'embedding' && <span class="small">embeddings </span>}
              <span class="quiet small offer-file">{offer.file}</span>
              {offer.problem !== null && <span class="small offer-problem"> It {offer.problem}.</span>}
            </span>
          </label>
        ))}
      </fieldset>
      {!chosen && <p class="error-text small">None of them fits this device. Look for a smaller model.</p>}
      <div class="row">
        <Button type="submit" look="primary" disabled={!chosen || reading.value !== null}>
          Show its facts
        </Button>
        <Button look="quiet" onClick={cancelChosen}>
          Back
        </Button>
      </div>
    </Form>
  );
}
