import './dictation.css';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { announce } from '../announce.ts';
import { loadFor } from '../client/downloads.ts';
import { PlainButton } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { problemOf } from '../problem.ts';
import { LevelMeter } from './level-meter.tsx';
import { canRecord, Recorder } from './recorder.ts';
import { toText } from './subtitles.ts';
import { transcribeSamples } from './transcribe.ts';
import { useEscape } from './use-escape.ts';
import { WaitingDots } from '../components/waiting-dots.tsx';

interface Props {
  /** The speech model. */
  model: string;
  onText: (text: string) => void;
  onProblem: (problem: string | null) => void;
}

/** The composer's microphone: records speech and inserts its transcript. */
export function Dictation({ model, onText, onProblem }: Props) {
  const working = useSignal<AbortController | null>(null);
  const recorder = useMemo(() => {
    const writeDown = async (samples: Float32Array): Promise<void> => {
      const controller = new AbortController();
      const { signal } = controller;
      working.value = controller;
      announce('Writing it down.');
      void loadFor(model, () => controller.abort());
      try {
        const text = toText(await transcribeSamples(samples, { model, signal }));
        if (text === '') onProblem('No speech was recognized.');
        else {
          onText(text);
          announce(`Inserted: ${text}`);
        }
      } catch (error) {
        if (!signal.aborted) onProblem(problemOf(error));
      } finally {
        if (working.value === controller) working.value = null;
      }
    };
    return new Recorder((samples) => void writeDown(samples));
  }, [model]);
  useEffect(
    () => () => {
      recorder.cancel();
      working.value?.abort();
    },
    [recorder],
  );
  const problem = recorder.problem.value;
  useEffect(() => {
    if (problem !== null) onProblem(problem);
  }, [problem]);

  const phase = recorder.phase.value;
  const isWriting = working.value !== null;
  const cancel = (): void => {
    recorder.cancel();
    working.value?.abort();
    working.value = null;
  };
  useEscape(phase !== 'idle' || isWriting, cancel);

  if (!canRecord()) return null;
  if (isWriting) {
    return (
      <PlainButton
        class="dictation"
        aria-label="Cancel the transcription"
        title="Cancel (Esc)"
        onClick={cancel}
      >
        <WaitingDots />
      </PlainButton>
    );
  }
  if (phase === 'recording') {
    return (
      <PlainButton
        class="dictation dictation-recording"
        aria-label="Stop recording"
        title="Stop, and insert the text (Esc cancels)"
        onClick={() => recorder.stop()}
      >
        <LevelMeter recorder={recorder} />
        <Icon name="stop" />
      </PlainButton>
    );
  }
  return (
    <PlainButton
      class="dictation"
      aria-label="Dictate"
      title="Dictate: what you say is transcribed on this device"
      disabled={phase === 'asking'}
      onClick={() => {
        onProblem(null);
        void recorder.start();
      }}
    >
      <Icon name="speech" />
    </PlainButton>
  );
}
