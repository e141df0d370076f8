import { chatModels, chosenVariant, weightBytes } from '../client/model-facts.ts';
import { hueOf } from '../client/models.ts';
import { bytes } from '../format.ts';
import { isNarrow } from '../media.ts';

interface Props {
  label: string;
  value: string;
  onChange: (model: string) => void;
}

/** A chat model, with its colour. */
export function ModelSelect({ label, value, onChange }: Props) {
  const models = chatModels.value.includes(value) ? chatModels.value : [value, ...chatModels.value];
  return (
    <label class="model-select" data-hue={hueOf(value)}>
      <span class="dot" aria-hidden="true" />
      <span class="visually-hidden">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {models.map((model) => (
          <option key={model} value={model}>
            {withWeights(model)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** An id with its weights on this device and their size, once they are chosen. WebKit cuts a longer text without a sign. */
function withWeights(model: string): string {
  const variant = chosenVariant(model);
  if (!variant) return model;
  const weights = isNarrow.value ? '' : ` · ${variant.name}`;
  return `${model}${weights} · ${bytes(weightBytes(variant))}`;
}
