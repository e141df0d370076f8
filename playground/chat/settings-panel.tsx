import type { Signal } from '@preact/signals';
import { CheckField, NumberField, RangeField, SelectField, TextField } from '../components/field.tsx';
import { DEFAULT_SETTINGS, ownPenalty, type ChatSettings } from './chat-settings.ts';
import { messageOf } from '../format.ts';

const EFFORTS = [
  { value: 'default', label: 'As the model does' },
  { value: 'none', label: 'None' },
  { value: 'low', label: 'Low' },
  { value: 'medium', label: 'Medium' },
  { value: 'high', label: 'High' },
] as const;
const FORMATS = [
  { value: 'text', label: 'Text' },
  { value: 'json_object', label: 'A JSON object' },
  { value: 'json_schema', label: 'JSON by a schema' },
] as const;
const TOOL_CHOICES = [
  { value: 'auto', label: 'The model decides' },
  { value: 'required', label: 'It must call one' },
  { value: 'none', label: 'It must not' },
] as const;

/** All parameters of a chat completion in groups; the common groups are open. */
export function SettingsPanel({ settings }: { settings: Signal<ChatSettings> }) {
  const value = settings.value;
  const set = (change: Partial<ChatSettings>): void => {
    settings.value = { ...settings.value, ...change };
  };
  return (
    <div class="settings-panel">
      <TextField
        label="System prompt"
        rows={3}
        placeholder="How it should answer"
        value={value.system}
        onInput={(system) => set({ system })}
      />
      <RangeField
        label="Temperature"
        value={value.temperature}
        min={0}
        max={2}
        step={0.05}
        onChange={(temperature) => set({ temperature })}
      />
      <RangeField
        label="Top P"
        value={value.topP}
        min={0}
        max={1}
        step={0.01}
        onChange={(topP) => set({ topP })}
      />
      <div class="field-pair">
        <NumberField
          label="Maximum tokens"
          min={1}
          placeholder="no limit"
          value={value.maxTokens}
          onChange={(maxTokens) => set({ maxTokens })}
        />
        <NumberField
          label="Seed"
          placeholder="random"
          value={value.seed}
          onChange={(seed) => set({ seed })}
        />
      </div>
      <SelectField
        label="Reasoning"
        hint="For models that can think before they answer."
        options={EFFORTS}
        value={value.reasoning}
        onChange={(reasoning) => set({ reasoning })}
      />
      <details>
        <summary>Stop, penalties, choices</summary>
        <div class="settings-group">
          <TextField
            label="Stop sequences"
            rows={2}
            code
            hint="One a line; \n stands for a line break."
            value={value.stop}
            onInput={(stop) => set({ stop })}
          />
          <RangeField
            label="Presence penalty"
            value={value.presencePenalty}
            min={-2}
            max={2}
            step={0.1}
            onChange={(presencePenalty) => set({ presencePenalty })}
          />
          <RangeField
            label="Frequency penalty"
            value={value.frequencyPenalty ?? ownPenalty(value.model)}
            min={-2}
            max={2}
            step={0.1}
            onChange={(frequencyPenalty) => set({ frequencyPenalty })}
          />
          <RangeField
            label="Choices (n)"
            value={value.choices}
            min={1}
            max={4}
            step={1}
            onChange={(choices) => set({ choices })}
          />
        </div>
      </details>
      <details>
        <summary>Probabilities</summary>
        <div class="settings-group">
          <CheckField
            label="Ask for log probabilities"
            value={value.logprobs}
            onChange={(logprobs) => set({ logprobs })}
          />
          {value.logprobs && (
            <RangeField
              label="Alternatives"
              value={value.topLogprobs}
              min={0}
              max={10}
              step={1}
              onChange={(topLogprobs) => set({ topLogprobs })}
            />
          )}
          <TextField
            label="Logit bias"
            code
            placeholder='{"198": -100}'
            hint="JSON: token id to a bias from -100 to 100."
            error={jsonError(value.logitBias)}
            value={value.logitBias}
            onInput={(logitBias) => set({ logitBias })}
          />
        </div>
      </details>
      <details>
        <summary>Answer format</summary>
        <div class="settings-group">
          <SelectField
            label="Format"
            options={FORMATS}
            value={value.format}
            onChange={(format) => set({ format })}
          />
          {value.format === 'json_schema' && (
            <TextField
              label="JSON schema"
              rows={8}
              code
              placeholder={SCHEMA_EXAMPLE}
              error={jsonError(value.schema)}
              value={value.schema}
              onInput={(schema) => set({ schema })}
            />
          )}
        </div>
      </details>
      <details>
        <summary>Tools</summary>
        <div class="settings-group">
          <TextField
            label="Tools"
            rows={8}
            code
            placeholder={TOOLS_EXAMPLE}
            hint="A JSON array, as the OpenAI API takes it. You play the tool: the call is shown, and you type its answer."
            error={jsonError(value.tools)}
            value={value.tools}
            onInput={(tools) => set({ tools })}
          />
          <div>
            <SelectField
              label="Calling"
              options={TOOL_CHOICES}
              value={value.toolChoice}
              onChange={(toolChoice) => set({ toolChoice })}
            />
          </div>
        </div>
      </details>
      <button
        type="button"
        class="button button-small"
        onClick={() => (settings.value = { ...DEFAULT_SETTINGS, model: value.model })}
      >
        Back to the defaults
      </button>
    </div>
  );
}

function jsonError(text: string): string | null {
  if (!text.trim()) return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

const SCHEMA_EXAMPLE = `{
  "type": "object",
  "properties": { "city": { "type": "string" } },
  "required": ["city"],
  "additionalProperties": false
}`;

const TOOLS_EXAMPLE = `[{
  "type": "function",
  "function": {
    "name": "get_weather",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } }
    }
  }
}]`;
