import { useSignal } from '@preact/signals';
import type { LoggedBody, RequestLogEntry } from '../../src/index.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import '../markdown/markdown.css';
import { edits, SelectField } from '../components/field.tsx';
import { clockTime, count, prettyJson } from '../format.ts';
import { clientName } from './clients.ts';
import { codeSample, samplesFor, type SampleKind } from './code-samples.ts';
import { figures, statusText } from './request-figures.ts';
import { Fact } from '../components/fact.tsx';

export function RequestDetail({ entry }: { entry: RequestLogEntry }) {
  const kind = useSignal<SampleKind>('openai');
  return (
    <div class="stack">
      <dl class="facts">
        <Fact name="Status">
          {statusText(entry)} {entry.error && <span class="error-text">{entry.error}</span>}
        </Fact>
        <Fact name="Asked by">
          {clientName(entry)}
          {entry.client && <span class="quiet small request-url"> {entry.client.url}</span>}
        </Fact>
        <Fact name="Key">{entry.keyLabel ?? 'none that is valid'}</Fact>
        <Fact name="Model">{entry.model ?? '–'}</Fact>
        <Fact name="Answered by">{entry.servedBy ?? '–'}</Fact>
        <Fact name="Began">{clockTime(entry.startedAt)}</Fact>
        <dt>Figures</dt>
        <dd class="figures">{figures(entry).join(' · ') || '–'}</dd>
        <Fact name="Request id">
          <code>{entry.requestId}</code>
        </Fact>
      </dl>
      <Body title="request" body={entry.requestBody} />
      <Body title="answer" body={entry.responseBody} />
      {entry.requestBody && (
        <>
          <SelectField
            label="Copy as"
            options={samplesFor(entry.path)}
            {...edits(kind)}
            {...(kind.value === 'curl' && {
              hint: 'curl reaches servers only, not the /v1 inside this page.',
            })}
          />
          <CodeBlock text={codeSample(kind.value, entry)} lang={kind.value === 'curl' ? 'sh' : 'ts'} />
        </>
      )}
    </div>
  );
}

function Body({ title, body }: { title: string; body: LoggedBody | null }) {
  if (!body) return null;
  return (
    <CodeBlock
      text={
        prettyJson(body.text) +
        (body.truncated ? `\n… (cut after ${count(body.text.length)} characters)` : '')
      }
      lang={title}
    />
  );
}
