import { useSignal } from '@preact/signals';
import { DEFAULT_SETTINGS, requestBody } from '../chat/chat-settings.ts';
import { emptyReply, type ReplyStats } from '../chat/reply.ts';
import { ReplyStatsLine } from '../chat/reply-stats-line.tsx';
import { streamReplies } from '../chat/stream-replies.ts';
import { downloads, loadFor } from '../client/downloads.ts';
import { FIRST_CHAT_MODEL, hueOf } from '../client/models.ts';
import { edits } from '../components/field.tsx';
import { Form } from '../components/form.tsx';
import { ModelSelect } from '../components/model-select.tsx';
import { RunRow, useRun } from '../components/run-row.tsx';

const TOKENS = 96;
const PROMPT = 'Write a long story about a lighthouse keeper and the sea.';

/** Measures as an application would see it: through /v1, streaming, with the official client. */
export function SpeedTest() {
  const model = useSignal(FIRST_CHAT_MODEL);
  const run = useRun(
    (controller) => measure(model.value, controller),
    ({ tokensPerSecond: rate }) =>
      rate === null ? 'The speed could not be measured.' : `${rate.toFixed(1)} tokens per second.`,
  );
  const isBusy = run.busy.value !== null;
  const stats = isBusy ? null : run.result.value;
  return (
    <Form class="card stack" data-hue={hueOf(model.value)} aria-labelledby="speed-title" onSubmit={run.start}>
      <h2 id="speed-title">Speed</h2>
      <div class="row">
        <ModelSelect label="Model to measure" {...edits(model)} />
      </div>
      <RunRow run={run} model={model.value} label="Measure tokens/s" disabled={false} figures={null} />
      {isBusy && downloads.value[model.value]?.phase === 'ready' && (
        <p class="small quiet">Writing {TOKENS} tokens…</p>
      )}
      {stats && stats.tokensPerSecond !== null && (
        <>
          <p class="speed">
            {stats.tokensPerSecond.toFixed(1)} <span class="quiet">tokens/s</span>
          </p>
          <ReplyStatsLine stats={{ ...stats, tokensPerSecond: null }} />
        </>
      )}
    </Form>
  );
}

async function measure(model: string, controller: AbortController): Promise<ReplyStats> {
  // The measurement excludes loading.
  await loadFor(model, () => controller.abort());
  controller.signal.throwIfAborted();
  const settings = { ...DEFAULT_SETTINGS, model, examples: '', temperature: 0, maxTokens: TOKENS };
  const body = requestBody(settings, [{ role: 'user', content: PROMPT }]);
  let reply = emptyReply();
  await streamReplies(body, controller.signal, ([first = reply]) => (reply = first));
  return reply.stats;
}
