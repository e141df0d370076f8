import './models.css';
import { useEffect } from 'preact/hooks';
import { modelIds, modelsError, refreshModels } from '../client/models.ts';
import { AddModelCard } from './add-model-card.tsx';
import { offersBuiltIn } from '../client/add-built-in.ts';
import { BuiltInCard } from './built-in-card.tsx';
import { HubCard } from './hub-card.tsx';
import { ModelCard } from './model-card.tsx';
import { StorageCard } from './storage-card.tsx';
import { VisionCard } from './vision-card.tsx';

export function ModelsView() {
  useEffect(() => void refreshModels(), []);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Models</h1>
        <p>
          What <code>GET /v1/models</code> answers here. Weights are downloaded once and kept in this browser.
        </p>
      </header>
      {modelsError.value !== null && (
        <p role="alert" class="error-text">
          {modelsError.value}
        </p>
      )}
      {modelIds.value.length === 0 && modelsError.value === null && <p class="quiet">Asking…</p>}
      <ul class="model-cards">
        {modelIds.value.map((id) => (
          <li key={id}>
            <ModelCard id={id} />
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
