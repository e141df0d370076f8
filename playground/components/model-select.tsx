import { hueOf } from '../client/models.ts';
import { chatModels } from '../client/model-facts.ts';

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
            {model}
          </option>
        ))}
      </select>
    </label>
  );
}
