import './models.css';
import { useEffect } from 'preact/hooks';
import { idsWithTheSameWeights } from '../client/model-facts.ts';
import { modelIds, modelsError, refreshModels } from '../client/models.ts';
import { AddModelCard } from './add-model-card.tsx';
import { offersBuiltIn } from '../client/catalog-settings.ts';
import { BuiltInCard } from './built-in-card.tsx';
import { HubCard } from './hub-card.tsx';
import { ModelCard } from './model-card.tsx';
import { StorageCard } from './storage-card.tsx';
import { VisionCard } from './vision-card.tsx';
import { PageHead } from '../components/page-head.tsx';
import { ErrorText } from '../components/error-text.tsx';

export function ModelsView() {
  useEffect(() => void refreshModels(), []);
  return (
    <div class="page">
      <PageHead title="Models">
        What <code>GET /v1/models</code> answers here. Weights are downloaded once and kept in this browser.
      </PageHead>
      <ErrorText alert small={false} text={modelsError.value} />
      {modelIds.value.length === 0 && modelsError.value === null && <p class="quiet">Asking…</p>}
      <ul class="model-cards">
        {cards().map((ids) => (
          <li key={ids[0]}>
            <ModelCard ids={ids} />
          </li>
        ))}
      </ul>
      <AddModelCard />
      <HubCard />
      <VisionCard />
      {offersBuiltIn && <BuiltInCard />}
      <StorageCard />
    </div>
  );
}

/** The ids of each card, in the order of /v1/models. */
function cards(): [string, ...string[]][] {
  const all: [string, ...string[]][] = [];
  for (const id of modelIds.value) {
    const same = idsWithTheSameWeights(id);
    const card = all.find(([first]) => same.includes(first));
    if (card) card.push(id);
    else all.push([id]);
  }
  return all;
}
