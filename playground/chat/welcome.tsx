import { asksFirst } from '../client/asks-first.ts';
import { load, downloads } from '../client/downloads.ts';
import {
  chosenVariant,
  idsWithTheSameWeights,
  missingBytes,
  pinnedVariant,
  statusOf,
  weightBytes,
} from '../client/model-facts.ts';
import { FIRST_CHAT_MODEL, hueOf } from '../client/models.ts';
import { hubAllowed } from '../client/catalog-settings.ts';
import { LoadCard } from '../components/load-card.tsx';
import { bytes } from '../format.ts';
import { settings } from './chat-state.ts';
import { isTouch } from '../media.ts';
import { focusComposer } from './focus-composer.ts';
import { LargerOffer } from './larger-offer.tsx';
import { say, writing } from './send.ts';
import { Button } from '../components/button.tsx';

/** Requests that the smallest model answers well: test/browser/playground/starters.test.ts. */
const STARTERS = [
  'Explain what a web browser is in one sentence.',
  'Write a sentence about the sea.',
  'Name five animals.',
];

/** Models with smaller weights know few facts, and no language but English. */
const SMALL_BYTES = 300e6;

/** Introduction shown before the first message: purpose, size of the download, and suggestions. */
export function Welcome({ onSettings }: { onSettings: () => void }) {
  const { model } = settings.value;
  const variant = chosenVariant(model) ?? (hubAllowed.value ? undefined : pinnedVariant(model));
  const weights = variant ? `${bytes(weightBytes(variant))} of weights` : 'Its weights';
  const status = statusOf(model);
  const ready = status?.state === 'ready';
  const small = (variant ? weightBytes(variant) : (status?.bytes ?? Infinity)) < SMALL_BYTES;
  return (
    <div class="welcome" data-hue={hueOf(model)}>
      <div class="welcome-body">
        <p class="welcome-title">
          The model is <em>in this page.</em>
        </p>
        {ready ? (
          <p class="welcome-line">
            {model} is loaded and runs on this device. Nothing you write leaves this page, and it goes on
            answering without a network.
          </p>
        ) : (
          <p class="welcome-line">
            {weights} are downloaded once and kept in this browser. Then {model} runs on this device: nothing
            you write leaves this page, and it answers without a network too.
          </p>
        )}
        {small && (
          <p class="welcome-line">
            A model this small knows only English. It answers simple questions, and with examples it
            classifies, extracts and rewrites short texts. Do not rely on it for facts.
          </p>
        )}
        {idsWithTheSameWeights(model).includes(FIRST_CHAT_MODEL) && (
          <p class="welcome-line">On this device, its weights are those of {FIRST_CHAT_MODEL}.</p>
        )}
        <LargerOffer model={model} />
        <LoadCard model={model} />
        {!ready && !downloads.value[model] && <LoadButton model={model} />}
        <ul class="starters" aria-label="Ideas to begin with">
          {STARTERS.map((text) => (
            <li key={text}>
              <Button
                disabled={writing.value !== null}
                onClick={() => {
                  void say(text);
                  // This button is gone with the first message.
                  if (!isTouch.value) focusComposer();
                }}
              >
                {text}
              </Button>
            </li>
          ))}
        </ul>
        <SentBefore onSettings={onSettings} />
      </div>
    </div>
  );
}

/** Button that starts a load if the user must be asked first. It appears once the size is known. */
function LoadButton({ model }: { model: string }) {
  const missing = missingBytes(model);
  if (!asksFirst(model) || missing === undefined || (missing === 0 && !hubAllowed.value)) return null;
  return (
    <Button look="primary" onClick={() => void load(model)}>
      {missing > 0 ? `Download ${bytes(missing)} and start` : `Load ${model}`}
    </Button>
  );
}

/** What is sent before the first message. */
function SentBefore({ onSettings }: { onSettings: () => void }) {
  const [system, examples] = [settings.value.system.trim(), settings.value.examples.trim()];
  if (!system && !examples) return null;
  return (
    <div class="small quiet">
      {system && <p>System prompt: “{system.slice(0, 200)}”</p>}
      {examples && <p>Some example turns come before the chat.</p>}
      <Button small onClick={onSettings}>
        Change it
      </Button>
    </div>
  );
}
