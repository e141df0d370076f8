import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { DEFAULT_SETTINGS, requestBody } from '../chat/chat-settings.ts';
import type { Reply } from '../chat/reply.ts';
import { ReplyStatsLine } from '../chat/reply-stats-line.tsx';
import { streamReplies } from '../chat/stream-replies.ts';
import { downloads, loadFor } from '../client/downloads.ts';
import { FIRST_CHAT_MODEL, hueOf } from '../client/models.ts';
import { announce } from '../announce.ts';
import { LoadCard } from '../components/load-card.tsx';
import { ModelSelect } from '../components/model-select.tsx';
import { problemOf } from '../problem.ts';
import { ErrorText } from '../components/error-text.tsx';

const TOKENS = 96;
const PROMPT = 'Write a long story about a lighthouse keeper and the sea.';

/** Measures as an application would see it: through /v1, streaming, with the official client. */
export function SpeedTest() {
  const model = useSignal(FIRST_CHAT_MODEL);
  const controller = useSignal<AbortController | null>(null);
  const reply = useSignal<Reply | null>(null);
  const problem = useSignal<string | null>(null);

  const measure = async (): Promise<void> => {
    const aborter = new AbortController();
    controller.value = aborter;
    reply.value = null;
    problem.value = null;
    try {
      // The measurement excludes loading.
      await loadFor(model.value, () => aborter.abort());
      aborter.signal.throwIfAborted();
      const settings = { ...DEFAULT_SETTINGS, model: model.value, temperature: 0, maxTokens: TOKENS };
      const body = requestBody(settings, [{ role: 'user', content: PROMPT }]);
      await streamReplies(body, aborter.signal, ([first]) => {
        reply.value = first ?? null;
      });
      const measured = reply.peek()?.stats.tokensPerSecond;
      announce(measured ? `${measured.toFixed(1)} tokens per second.` : 'The speed could not be measured.');
    } catch (error) {
      if (!aborter.signal.aborted) problem.value = problemOf(error);
    } finally {
      controller.value = null;
    }
  };
  useEffect(() => () => controller.peek()?.abort(), []);
  const busy = controller.value !== null;
  const rate = reply.value?.stats.tokensPerSecond ?? null;
  return (
    <section class="card stack" data-hue={hueOf(model.value)} aria-labelledby="speed-title">
      <h2 id="speed-title">Speed</h2>
      <div class="row">
        <ModelSelect
          label="Model to measure"
          value={model.value}
          onChange={(value) => (model.value = value)}
        />
        {busy ? (
          <button type="button" class="button" onClick={() => controller.value?.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" class="button button-primary" onClick={() => void measure()}>
            Measure tokens/s
          </button>
        )}
      </div>
      <LoadCard model={model.value} />
      {busy && downloads.value[model.value]?.phase === 'ready' && (
        <p class="small quiet">Writing {TOKENS} tokens…</p>
      )}
      {!busy && rate !== null && reply.value && (
        <>
          <p class="speed">
            {rate.toFixed(1)} <span class="quiet">tokens/s</span>
          </p>
          <ReplyStatsLine stats={reply.value.stats} />
        </>
      )}
      {problem.value !== null && <ErrorText alert small={false} text={problem.value} />}
    </section>
  );
}
