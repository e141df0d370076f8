import { addedModel } from '../client/added-models.ts';
import { load, downloads } from '../client/downloads.ts';
import { modelStatuses } from '../client/localtext.ts';
import { catalogModel, idsWithTheSameWeights, chosenVariant, weightBytes } from '../client/model-facts.ts';
import { hueOf } from '../client/models.ts';
import { LoadCard } from '../components/load-card.tsx';
import { AddedModelActions } from './added-model-actions.tsx';
import { DeviceNeeds } from './device-needs.tsx';
import { AddedModelFacts } from './added-model-facts.tsx';
import { WhyThese } from './why-these.tsx';
import { bytes, count } from '../format.ts';

const PURPOSES = { chat: 'chat', embedding: 'embeddings', transcription: 'speech to text' } as const;
const STATES = { idle: 'not loaded', loading: 'loading', ready: 'ready', failed: 'failed' } as const;

export function ModelCard({ id }: { id: string }) {
  const status = modelStatuses.value.find((model) => model.id === id);
  const kind = catalogModel(id)?.kind ?? status?.kind ?? 'chat';
  const variant = chosenVariant(id);
  const added = addedModel(id);
  const state = status?.state ?? 'idle';
  const estimates = status?.estimates ?? {};
  // An added model has one variant.
  const estimate = estimates[variant?.name ?? ''] ?? (added && Object.values(estimates)[0]);
  const sharing = idsWithTheSameWeights(id);
  const phase = downloads.value[id]?.phase;
  const busy = phase !== undefined && !['ready', 'cancelled', 'failed'].includes(phase);
  return (
    <article class="card model-card" data-hue={hueOf(id)}>
      <div class="row row-between">
        <h2 class="model-name">
          <span class="dot" aria-hidden="true" />
          {id}
        </h2>
        <span class={`tag ${state === 'ready' ? 'tag-accent' : ''}`}>{STATES[state]}</span>
      </div>
      <dl class="facts">
        <dt>For</dt>
        <dd>{PURPOSES[kind]}</dd>
        {variant && (
          <>
            <dt>Weights</dt>
            <dd>
              <code>{variant.name}</code>
              <span class="quiet small license"> {variant.license}</span>
            </dd>
            <dt>Why these</dt>
            <dd>
              <WhyThese reasons={status?.reasons ?? []} />
            </dd>
            <dt>Size</dt>
            <dd>
              {bytes(weightBytes(variant))}
              {sharing.length > 0 && <span class="quiet small"> shared with {sharing.join(' and ')}</span>}
            </dd>
            <dt>Context</dt>
            <dd>{count(variant.contextLength)} tokens</dd>
          </>
        )}
        {added && <AddedModelFacts {...added} />}
        {estimate && (
          <>
            <dt>Needs</dt>
            <dd>
              <DeviceNeeds {...estimate} />
            </dd>
          </>
        )}
        {!variant && !added && (
          <>
            <dt>Weights</dt>
            <dd class="quiet">
              {status?.reasons?.find(({ chosen }) => chosen)?.engine === 'built-in'
                ? 'the browser’s own model'
                : `one of ${catalogModel(id)?.variants.length ?? 0} variants, chosen when it loads`}
            </dd>
          </>
        )}
        <dt>Backend</dt>
        <dd>
          {status?.fingerprint ? (
            <code>{status.fingerprint}</code>
          ) : (
            <span class="quiet">chosen when it loads</span>
          )}
        </dd>
        {status && status.running + status.queued > 0 && (
          <>
            <dt>Now</dt>
            <dd>
              {status.running} running, {status.queued} waiting
            </dd>
          </>
        )}
      </dl>
      {status?.error && <p class="error-text small">{status.error}</p>}
      <LoadCard model={id} />
      {state !== 'ready' && !busy && phase === undefined && (
        <button type="button" class="button" onClick={() => void load(id)}>
          Load<span class="visually-hidden"> {id}</span>
        </button>
      )}
      {added && !busy && <AddedModelActions id={id} />}
    </article>
  );
}
