import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announce } from '../announce.ts';
import { bytes, timeLeft } from '../format.ts';
import { hubAllowed } from '../client/catalog-settings.ts';
import { cancelLoad, downloads, hasEnded, hold, isReady, load, type Download } from '../client/downloads.ts';
import { hubBytes, missingBytes } from '../client/model-facts.ts';
import { hueOf } from '../client/models.ts';
import { ProgressBar } from './progress-bar.tsx';
import { useKeptFocus } from './use-kept-focus.ts';
import { WaitingDots } from './waiting-dots.tsx';
import { ErrorText } from './error-text.tsx';
import { Button } from './button.tsx';

interface Props {
  /** Null renders nothing. */
  model: string | null;
  /** Runs again what failed with the load, which has begun again. */
  onRetry?: (() => void) | undefined;
  /** Source of the weights, if the card also says before a load what it downloads. */
  source?: 'site' | 'hub';
}

/** Progress of a model's download: bytes, rate, time left, and Cancel. Renders nothing once the model is ready. */
export function LoadCard({ model, onRetry, source }: Props) {
  const download = downloads.value[model ?? ''];
  const card = useKeptFocus<HTMLDivElement>();
  if (model === null || download?.phase === 'ready') return null;
  if (!download) return source ? <FirstTime model={model} source={source} /> : null;
  // Another tab, or another id with the same weights, may have loaded it since.
  if (hasEnded(download) && isReady(model)) return null;
  return (
    <div
      class="load-card"
      data-hue={hueOf(model)}
      role="group"
      aria-label={`Load ${model}`}
      tabIndex={-1}
      ref={card}
    >
      {hasEnded(download) ? <Ended {...download} onRetry={onRetry} /> : <Running {...download} />}
    </div>
  );
}

function FirstTime({ model, source }: { model: string; source: 'site' | 'hub' }) {
  const size = source === 'hub' ? hubBytes(model) : missingBytes(model);
  if (!size) return null;
  return (
    <p class="small">
      The first time, {model} ({source === 'hub' && 'about '}
      {bytes(size)}) is downloaded{source === 'hub' && ' from the model hub (huggingface.co)'}
      {source === 'hub' && !hubAllowed.value && ', and this page is reloaded'}.
    </p>
  );
}

function Ended({ model, phase, error, onRetry }: Download & Pick<Props, 'onRetry'>) {
  const retry = (): void => {
    void load(model, true);
    onRetry?.();
  };
  return (
    <>
      {phase === 'failed' ? (
        <ErrorText alert small={false} text={error ?? `${model} could not be loaded.`} />
      ) : (
        <p>Loading {model} was cancelled.</p>
      )}
      <Button onClick={retry}>
        {phase === 'failed' ? 'Try again' : 'Load it'}
        <span class="visually-hidden"> {model}</span>
      </Button>
    </>
  );
}

/** Time without new bytes after which a download waits for the connection. */
const SILENCE_MS = 5000;

function Running(download: Download) {
  const { model, phase, loadedBytes, totalBytes, error, held } = download;
  const waits = useSignal(false);
  useEffect(() => {
    waits.value = false;
    if (phase !== 'download' || held || loadedBytes === totalBytes) return;
    const timer = setTimeout(() => {
      waits.value = true;
      announce(`The download of ${model} waits for the connection.`);
    }, SILENCE_MS);
    return () => clearTimeout(timer);
  }, [model, phase, held, loadedBytes]);
  const hidden = <span class="visually-hidden"> {model}</span>;
  return (
    <>
      <div class="load-card-head">
        <span>
          {verb(download)} {model}
        </span>
        <span class="row">
          {phase === 'download' && (
            <Button look="quiet" onClick={() => void hold(model, !held)}>
              {held ? 'Resume' : 'Pause'}
              {hidden}
            </Button>
          )}
          <Button look="quiet" onClick={() => cancelLoad(model)}>
            Cancel
            {hidden}
          </Button>
        </span>
      </div>
      <ProgressBar
        label={`Loading ${model}`}
        value={loadedBytes}
        max={phase === 'download' ? totalBytes : 0}
      />
      <p class="figures">
        {phase === 'compile' ? <Compiling /> : figures(download, waits.value)}{' '}
        {(phase !== 'download' || totalBytes === 0) && <WaitingDots />}
      </p>
      <ErrorText alert text={error} />
    </>
  );
}

function Compiling() {
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => seconds.value++, 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return <>{seconds} s, for this GPU</>;
}

function verb({ phase, held }: Download): string {
  if (phase === 'compile') return 'Compiling shaders for';
  if (phase !== 'download') return 'Loading';
  return held ? 'Paused:' : 'Downloading';
}

function figures({ phase, loadedBytes, totalBytes, rate, held }: Download, waits: boolean): string {
  if (phase === 'load') return 'from this browser’s storage into the engine';
  if (phase === 'starting' || totalBytes === 0) return 'starting the engine';
  const parts = [`${bytes(loadedBytes)} of ${bytes(totalBytes)}`];
  if (held) parts.push('what has come is kept');
  else if (loadedBytes === totalBytes) parts.push('storing it');
  else if (waits) parts.push('waiting for the connection');
  else if (rate !== null && rate > 0) {
    parts.push(`${bytes(rate)}/s`, timeLeft(((totalBytes - loadedBytes) / rate) * 1000));
  }
  return parts.join(' · ');
}
