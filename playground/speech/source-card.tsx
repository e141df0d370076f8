import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { speechModel, speechState } from '../client/speech-model.ts';
import { Icon } from '../components/icon.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { useDrop } from '../components/use-drop.ts';
import { LevelMeter } from './level-meter.tsx';
import { canRecord, Recorder } from './recorder.ts';
import { problem, takeFile, takeRecording, takeSample, tryAgain } from './speech-session.ts';
import { clock } from './subtitles.ts';
import { useEscape } from './use-escape.ts';
import { ErrorText } from '../components/error-text.tsx';
import { Card } from '../components/card.tsx';
import { FileInput } from '../components/file-input.tsx';
import { Button } from '../components/button.tsx';
import { SpeechSetup } from './speech-setup.tsx';

/** Card for the source of sound: a file, dropped or chosen, or the microphone. */
export function SourceCard() {
  const takeFirst = ([file]: Iterable<File>): void => {
    if (file) void takeFile(file);
  };
  const { handlers, overClass } = useDrop(({ files }) => takeFirst(files));
  const input = useRef<HTMLInputElement>(null);
  const recorder = useMemo(() => new Recorder((samples) => void takeRecording(samples)), []);
  useEffect(() => () => recorder.cancel(), [recorder]);
  const phase = recorder.phase.value;
  useEscape(phase !== 'idle', () => recorder.cancel());
  // Answers the click at once: the sample is fetched first.
  const takesSample = useSignal(false);
  const trySample = (): void => {
    takesSample.value = true;
    void takeSample().then(() => (takesSample.value = false));
  };
  const failure = recorder.problem.value ?? problem.value;
  return (
    <Card title="Transcribe" class={`drop-zone ${overClass}`} {...handlers}>
      <p class="small">
        Drop a file here (flac, mp3, mp4, m4a, ogg, wav or webm), choose one, or record. It is sent nowhere.
      </p>
      <div class="row">
        {phase === 'recording' ? (
          <>
            <Button look="primary" onClick={() => recorder.stop()}>
              <Icon name="stop" />
              Stop and transcribe
            </Button>
            <Button look="quiet" onClick={() => recorder.cancel()}>
              Cancel
            </Button>
            <span class="recording">
              <LevelMeter recorder={recorder} />
              <Stopwatch />
            </span>
          </>
        ) : (
          <>
            {canRecord() && (
              <Button look="primary" disabled={phase === 'asking'} onClick={() => void recorder.start()}>
                <Icon name="speech" />
                Record
              </Button>
            )}
            <Button onClick={() => input.current?.click()}>Choose a file…</Button>
            <Button disabled={takesSample.value} onClick={trySample}>
              Try a sample
            </Button>
          </>
        )}
      </div>
      <FileInput ref={input} accept="audio/*,video/mp4,video/webm" onFiles={takeFirst} />
      <LoadCard
        model={speechModel.value}
        source={speechState.value === 'no weights' ? 'hub' : 'site'}
        onRetry={() => problem.value !== null && void tryAgain()}
      />
      <ErrorText alert text={failure} model={speechModel.value} />
      <SpeechSetup />
    </Card>
  );
}

/** How long it has recorded. Not in a live region: it would be read every second. */
function Stopwatch() {
  const since = useMemo(() => performance.now(), []);
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => (seconds.value = (performance.now() - since) / 1000), 250);
    return () => clearInterval(timer);
  }, []);
  return <span class="figures">{clock(seconds.value)}</span>;
}
