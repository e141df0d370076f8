import { useSignal } from '@preact/signals';
import type { LoggedBody, RequestLogEntry } from '../../src/index.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import '../markdown/markdown.css';
import { SelectField } from '../components/field.tsx';
import { clockTime, count, prettyJson } from '../format.ts';
import { clientName } from './clients.ts';
import { codeSample, samplesFor, type SampleKind } from './code-samples.ts';
import { figures, statusText } from './request-figures.ts';

export function RequestDetail({ entry }: { entry: RequestLogEntry }) {
  const kind = useSignal<SampleKind>('openai');
  return (
    <div class="stack">
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          {statusText(entry)} {entry.error && <span class="error-text">{entry.error}</span>}
        </dd>
        <dt>Asked by</dt>
        <dd>
          {clientName(entry)}
          {entry.client && <span class="quiet small request-url"> {entry.client.url}</span>}
        </dd>
        <dt>Key</dt>
        <dd>{entry.keyLabel ?? 'none that is valid'}</dd>
        <dt>Model</dt>
        <dd>{entry.model ?? '–'}</dd>
        <dt>Answered by</dt>
        <dd>{entry.servedBy ?? '–'}</dd>
        <dt>Began</dt>
        <dd>{clockTime(entry.startedAt)}</dd>
        <dt>Figures</dt>
        <dd class="figures">{figures(entry).join(' · ') || '–'}</dd>
        <dt>Request id</dt>
        <dd>
          <code>{entry.id}</code>
        </dd>
      </dl>
      <Body title="request" body={entry.requestBody} />
      <Body title="answer" body={entry.responseBody} />
      {entry.requestBody && (
        <>
          <SelectField
            label="Copy as"
            options={samplesFor(entry.path)}
            value={kind.value}
            onChange={(value) => (kind.value = value)}
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
