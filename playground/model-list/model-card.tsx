import type { Variant } from '../../src/catalog.ts';
import type { ModelStatus, VariantReason } from '../../src/index.ts';
import { addedModel } from '../client/added-models.ts';
import { hubAllowed } from '../client/catalog-settings.ts';
import { load, downloads } from '../client/downloads.ts';
import { engineStatus } from '../client/localtext.ts';
import { catalogModel, chosenVariant, hubBytes, statusOf, weightBytes } from '../client/model-facts.ts';
import { FIRST_CHAT_MODEL, hueOf } from '../client/models.ts';
import { UnloadNote } from '../components/unload-note.tsx';
import { ErrorText } from '../components/error-text.tsx';
import { ReloadRow } from '../components/reload-row.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { AddedModelActions } from './added-model-actions.tsx';
import { FileFacts } from './file-facts.tsx';
import { WhyThese } from './why-these.tsx';
import { bytes, count } from '../format.ts';
import { inWords } from '../problem.ts';
import { Fact } from '../components/fact.tsx';
import { Button } from '../components/button.tsx';

const PURPOSES = {
  chat: 'chat',
  embedding: 'embeddings',
  rerank: 'reranking',
  transcription: 'speech to text',
  speech: 'text to speech',
} as const;
const STATES = { idle: 'not loaded', loading: 'loading', ready: 'ready', failed: 'failed' } as const;

/** Card of one set of weights, with all ids that it answers. */
export function ModelCard({ ids }: { ids: readonly [string, ...string[]] }) {
  const id = shownId(ids);
  const status = statusOf(id);
  const state = status?.state ?? 'idle';
  const phase = downloads.value[id]?.phase;
  // Loaded before, and unloaded since.
  const isUnloaded = phase === 'ready' && state === 'idle';
  const card = useKeptFocus<HTMLElement>();
  return (
    <article
      class="card model-card"
      data-hue={hueOf(id)}
      aria-label={ids.join(', ')}
      tabIndex={-1}
      ref={card}
    >
      <CardHead ids={ids} state={state} />
      <ModelFacts id={id} status={status} />
      {phase !== 'failed' && <Failure status={status} />}
      <UnloadNote model={id} />
      <LoadCard model={id} />
      {(isUnloaded || (phase === undefined && state !== 'ready')) && (
        <LoadOrAllow id={id} reasons={status?.reasons ?? []} />
      )}
      {addedModel(id) && !isBusy(id) && <AddedModelActions id={id} />}
    </article>
  );
}

function CardHead({ ids, state }: { ids: readonly string[]; state: ModelStatus['state'] }) {
  return (
    <>
      <div class="model-head">
        <div class="model-names">
          {ids.map((each) => (
            <h2 class="model-name" key={each} data-hue={hueOf(each)}>
              <span class="dot" aria-hidden="true" />
              {each}
            </h2>
          ))}
        </div>
        <span class={`tag ${state === 'ready' ? 'tag-accent' : ''}`}>{STATES[state]}</span>
      </div>
      {ids.length > 1 && <p class="small quiet">On this device, these ids have the same weights.</p>}
    </>
  );
}

/** Button that loads a model, or first allows the model hub, which alone has its weights. */
function LoadOrAllow({ id, reasons }: { id: string; reasons: VariantReason[] }) {
  const isNone = reasons.length > 0 && reasons.every(({ chosen }) => !chosen);
  if (isNone && hubBytes(id) > 0 && !hubAllowed.value) {
    return (
      <>
        <p class="small">
          The model hub (huggingface.co) has its weights, about {bytes(hubBytes(id))}. Allow it, then load the
          model.
        </p>
        <ReloadRow setting={hubAllowed} value>
          Allow the model hub<span class="visually-hidden"> for {id}</span>
        </ReloadRow>
      </>
    );
  }
  return (
    <Button onClick={() => void load(id)}>
      Load<span class="visually-hidden"> {id}</span>
    </Button>
  );
}

function Failure({ status }: Pick<Facts, 'status'>) {
  if (status?.state !== 'failed' || status.error === null) return null;
  return <ErrorText text={inWords(status.errorCode ?? '', status.error)} />;
}

/** Whether requests have a limit in tokens: speech has none that users meet. */
const isOfTexts = (id: string): boolean =>
  !['speech', 'transcription'].includes(catalogModel(id)?.kind ?? 'chat');

const isBusy = (id: string): boolean => {
  const phase = downloads.value[id]?.phase;
  return phase !== undefined && !['ready', 'cancelled', 'failed'].includes(phase);
};

/** The id that a card's state and buttons are about: one that loads or is loaded, else the one that the chat begins with. */
const shownId = (ids: readonly [string, ...string[]]): string =>
  ids.find(isBusy) ??
  ids.find((id) => downloads.value[id]) ??
  ids.find((id) => statusOf(id)?.state === 'ready') ??
  ids.find((id) => id === FIRST_CHAT_MODEL) ??
  ids[0];

interface Facts {
  id: string;
  status: ModelStatus | undefined;
}

function ModelFacts({ id, status }: Facts) {
  const variant = chosenVariant(id);
  const added = addedModel(id);
  return (
    <dl class="facts">
      <Fact name="For">{PURPOSES[catalogModel(id)?.kind ?? status?.kind ?? 'chat']}</Fact>
      {variant && <VariantDetails id={id} variant={variant} status={status} />}
      {added && (
        <>
          <Fact name="Weights">
            {added.name} <span class="quiet small">added by you</span>
          </Fact>
          <FileFacts details={added} />
        </>
      )}
      <Needs id={id} status={status} />
      {!variant && !added && <OtherWeights id={id} status={status} />}
      <EngineFacts status={status} />
    </dl>
  );
}

function VariantDetails({ id, variant, status }: Facts & { variant: Variant }) {
  return (
    <>
      <Fact name="Weights">
        <code>{variant.name}</code>
        <span class="quiet small license"> {variant.license}</span>
      </Fact>
      <Fact name="Why these">
        <WhyThese model={id} reasons={status?.reasons ?? []} />
      </Fact>
      <Fact name="Size">{bytes(weightBytes(variant))}</Fact>
      {isOfTexts(id) && <Fact name="Context">{count(variant.contextLength)} tokens</Fact>}
    </>
  );
}

function EngineFacts({ status }: Pick<Facts, 'status'>) {
  return (
    <>
      <Fact name="Backend">
        {status?.fingerprint ? (
          <code>{status.fingerprint}</code>
        ) : (
          <span class="quiet">chosen when it loads</span>
        )}
      </Fact>
      {status && status.running + status.queued > 0 && (
        <Fact name="Now">
          {status.running} running, {status.queued} waiting
        </Fact>
      )}
    </>
  );
}

/** Shows the weights of a model whose variant is not chosen yet, or is not in the catalog. */
function OtherWeights({ id, status }: Facts) {
  const reasons = status?.reasons ?? [];
  const chosen = reasons.find((reason) => reason.chosen);
  const [isBuiltIn, isNone] = [chosen?.engine === 'built-in', reasons.length > 0 && !chosen];
  const { variants = [] } = catalogModel(id) ?? {};
  const other = isNone
    ? 'none that can run here now'
    : `one of ${variants.length} variants, chosen when it loads`;
  return (
    <>
      <dt>Weights</dt>
      <dd class="quiet">
        {isBuiltIn ? 'the browser’s own model' : other}
        {isNone && <WhyThese model={id} reasons={reasons} />}
      </dd>
    </>
  );
}

/** `about 1.1 GB of 4 GB of memory` */
function Needs({ id, status }: Facts) {
  const { estimates = {} } = status ?? {};
  // An added model has one variant.
  const estimate = addedModel(id) ? Object.values(estimates)[0] : estimates[chosenVariant(id)?.name ?? ''];
  const device = engineStatus.value?.deviceMemoryBytes ?? null;
  if (!estimate) return null;
  return (
    <Fact name="Needs">
      about {bytes(estimate.memoryBytes)}
      {device !== null && ` of ${device / 2 ** 30} GB`} of memory
    </Fact>
  );
}
