import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { chosenVariant } from '../client/model-facts.ts';
import { loadFor } from '../client/downloads.ts';
import { openai } from '../client/openai.ts';
import { voiceModel } from '../client/speech-model.ts';
import { ErrorText } from '../components/error-text.tsx';
import { edits, membersOf, RangeField, SelectField, TextField } from '../components/field.tsx';
import { Icon } from '../components/icon.tsx';
import { useRun } from '../components/run-row.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { downloadBlob } from '../download-file.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { codeSample } from '../requests/code-samples.ts';
import { pauseSpeech, speak, stopSpeech } from './speaker.ts';
import { speechProblem, spoken, VIEW_TEXT, voiceSettings } from './spoken.ts';
import { useEscape } from './use-escape.ts';
import { Card } from '../components/card.tsx';
import { Button } from '../components/button.tsx';

const SAMPLES = [
  {
    name: 'A story',
    text: 'The boat left the harbor before sunrise. Two hours later, the fog came, and nobody could see the shore. Was that a bell?',
  },
  {
    name: 'Numbers',
    text: 'On May 3rd, 2025, Dr. Lee paid $1,249.50 for 3 kg of coffee: 12% more than in 1999. The train leaves at 7:30.',
  },
  {
    name: 'Markdown',
    text: '## Opening hours\n\n- **Monday** to *Friday*: 9-17\n- See [our page](https://example.com/hours), or mail hello@example.com 🙂',
  },
] as const;

const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
type Format = (typeof FORMATS)[number];

const voiceNames = (): string[] => {
  const variant = chosenVariant(voiceModel.value ?? '');
  return variant?.engine === 'voice' ? Object.keys(variant.voices) : [];
};

/** Speaks a text, shows its sentences, and saves its sound. */
export function SpeakCard() {
  const text = useSignal<string>(SAMPLES[0].text);
  const speech = spoken.value?.id === VIEW_TEXT ? spoken.value : null;
  const isReady = text.value.trim() !== '';
  useEscape(speech !== null, stopSpeech);
  useEffect(() => stopSpeech, []);
  const speakAgain = (): void => {
    if (speechProblem.value !== null) void speak(VIEW_TEXT, text.value);
  };
  return (
    <Card title="Speak a text">
      <div class="row" role="group" aria-label="Samples">
        {SAMPLES.map((sample) => (
          <Button
            small
            key={sample.name}
            onClick={() => {
              text.value = sample.text;
              void speak(VIEW_TEXT, sample.text);
            }}
          >
            <Icon name="speaker" />
            {sample.name}
          </Button>
        ))}
      </div>
      <TextField label="Text" rows={4} {...edits(text)} />
      <VoiceFields />
      <div class="row">
        <Button
          look="primary"
          disabled={!speech && !isReady}
          onClick={() => (speech ? stopSpeech() : void speak(VIEW_TEXT, text.value))}
        >
          <Icon name={speech ? 'stop' : 'speaker'} />
          {speech ? 'Stop speaking' : 'Speak'}
        </Button>
        {speech && (
          <Button onClick={() => pauseSpeech(!speech.paused)}>
            <Icon name={speech.paused ? 'play' : 'pause'} />
            {speech.paused ? 'Continue' : 'Pause'}
          </Button>
        )}
        <SaveButton text={text.value} disabled={!isReady} />
      </div>
      <LoadCard model={voiceModel.value} source="site" onRetry={speakAgain} />
      <ErrorText alert text={speechProblem.value} model={voiceModel.value} />
      {speech && <Lines lines={speech.lines} current={speech.current} />}
      <Code text={text.value} />
    </Card>
  );
}

function VoiceFields() {
  const { voice } = voiceSettings.value;
  const fields = membersOf(voiceSettings);
  const voices = voiceNames();
  return (
    <div class="speak-fields">
      {voices.length > 0 && (
        <SelectField
          label="Voice"
          options={voices.map((name) => ({ value: name, label: name }))}
          {...fields('voice')}
          value={voices.includes(voice) ? voice : (voices[0] ?? '')}
        />
      )}
      <RangeField label="Speed" min={0.5} max={2} step={0.1} {...fields('speed')} />
      <SelectField
        label="Format of the file"
        options={FORMATS.map((each) => ({ value: each, label: each }))}
        {...fields('format')}
      />
    </div>
  );
}

/** Sentences whose sound has come. No live region: a screen reader would talk over the voice. */
function Lines({ lines, current }: { lines: readonly string[]; current: number }) {
  if (lines.length === 0) return <p class="quiet small">Speaking…</p>;
  return (
    <ol class="captions" aria-label="Sentences">
      {lines.map((line, at) => (
        <li key={at} class="small" dir="auto" aria-current={at === current ? 'true' : undefined}>
          {line}
        </li>
      ))}
    </ol>
  );
}

const requestOf = (input: string) => {
  const { voice, speed, format } = voiceSettings.value;
  return {
    model: voiceModel.value ?? '',
    input,
    voice: voice || (voiceNames()[0] ?? ''),
    speed,
    response_format: format as Format,
  };
};

function SaveButton({ text, disabled }: { text: string; disabled: boolean }) {
  const { format } = voiceSettings.value;
  const { busy, problem, start } = useRun(
    async (controller) => {
      const request = requestOf(text);
      void loadFor(request.model, () => controller.abort());
      const client = await openai();
      const response = await client.audio.speech.create(request, { signal: controller.signal });
      downloadBlob(`speech.${format}`, await response.blob());
    },
    () => `The speech was saved as speech.${format}.`,
  );
  return (
    <>
      {busy.value ? (
        <Button onClick={() => busy.value?.abort()}>Cancel saving</Button>
      ) : (
        <Button disabled={disabled} onClick={() => void start()}>
          <Icon name="download" />
          Save as .{format}
        </Button>
      )}
      <ErrorText alert text={problem.value} model={voiceModel.value} />
    </>
  );
}

function Code({ text }: { text: string }) {
  const body = { text: JSON.stringify(requestOf(text)), truncated: false };
  return (
    <details>
      <summary>As code</summary>
      <CodeBlock text={codeSample('openai', { path: '/v1/audio/speech', requestBody: body })} lang="ts" />
    </details>
  );
}
