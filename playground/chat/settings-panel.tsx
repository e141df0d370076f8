import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import {
  CheckField,
  membersOf,
  NumberField,
  RangeField,
  SelectField,
  TextField,
} from '../components/field.tsx';
import { DEFAULT_SETTINGS, ownPenalty, type ChatSettings } from './chat-settings.ts';
import { messageOf } from '../format.ts';
import { Button } from '../components/button.tsx';

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
  const edits = membersOf(settings);
  return (
    <div class="settings-panel">
      <TextField label="System prompt" rows={3} placeholder="How it should answer" {...edits('system')} />
      <TextField
        label="Examples"
        rows={4}
        placeholder="Hi => Hello!"
        hint="Sent before the chat. One a line: a message, => and its reply."
        {...edits('examples')}
      />
      <RangeField label="Temperature" min={0} max={2} step={0.05} {...edits('temperature')} />
      <RangeField label="Top P" min={0} max={1} step={0.01} {...edits('topP')} />
      <div class="field-pair">
        <NumberField label="Maximum tokens" min={1} placeholder="no limit" {...edits('maxTokens')} />
        <NumberField label="Seed" placeholder="random" {...edits('seed')} />
      </div>
      <SelectField
        label="Reasoning"
        hint="For models that can think before they answer."
        options={EFFORTS}
        {...edits('reasoning')}
      />
      <Group title="Stop, penalties, choices">
        <TextField
          label="Stop sequences"
          rows={2}
          code
          hint="One a line; \n stands for a line break."
          {...edits('stop')}
        />
        <RangeField label="Presence penalty" min={-2} max={2} step={0.1} {...edits('presencePenalty')} />
        <RangeField
          label="Frequency penalty"
          min={-2}
          max={2}
          step={0.1}
          {...edits('frequencyPenalty')}
          value={value.frequencyPenalty ?? ownPenalty(value.model)}
        />
        <RangeField label="Choices (n)" min={1} max={4} step={1} {...edits('choices')} />
      </Group>
      <Group title="Probabilities">
        <CheckField label="Ask for log probabilities" {...edits('logprobs')} />
        {value.logprobs && (
          <RangeField label="Alternatives" min={0} max={10} step={1} {...edits('topLogprobs')} />
        )}
        <TextField
          label="Logit bias"
          code
          placeholder='{"198": -100}'
          hint="JSON: token id to a bias from -100 to 100."
          error={jsonError(value.logitBias)}
          {...edits('logitBias')}
        />
      </Group>
      <Group title="Answer format">
        <SelectField label="Format" options={FORMATS} {...edits('format')} />
        {value.format === 'json_schema' && (
          <TextField
            label="JSON schema"
            rows={8}
            code
            placeholder={SCHEMA_EXAMPLE}
            error={jsonError(value.schema)}
            {...edits('schema')}
          />
        )}
      </Group>
      <Group title="Tools">
        <TextField
          label="Tools"
          rows={8}
          code
          placeholder={TOOLS_EXAMPLE}
          hint="A JSON array, as the OpenAI API takes it. You play the tool: the call is shown, and you type its answer."
          error={jsonError(value.tools)}
          {...edits('tools')}
        />
        <SelectField label="Calling" options={TOOL_CHOICES} {...edits('toolChoice')} />
      </Group>
      <Button small onClick={() => (settings.value = { ...DEFAULT_SETTINGS, model: value.model })}>
        Back to the defaults
      </Button>
    </div>
  );
}

function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details>
      <summary>{title}</summary>
      <div class="settings-group">{children}</div>
    </details>
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
