import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.tsx';
import { Icon } from '../components/icon.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { downloadBlob } from '../download-file.ts';
import { plural } from '../format.ts';
import { RATE } from './decode-sound.ts';
import { cancel, doneSeconds, phase, segments, tryAgain, type Sound } from './speech-session.ts';
import { clock, renamed, toSrt, toText, type Segment } from './subtitles.ts';
import { Waveform } from './waveform.tsx';
import { Button } from '../components/button.tsx';

/** Empty samples reserve the waveform's space while the file is read, so that the button below does not move. */
const NOT_READ = new Float32Array();

/** A recording with its player and its transcript. */
export function TranscriptCard({ sound: { file, url, samples } }: { sound: Sound }) {
  const card = useRef<HTMLElement>(null);
  // A press above has added it, often below the screen.
  useEffect(() => {
    if (phase.peek() === 'reading') card.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const audio = useRef<HTMLAudioElement>(null);
  const time = useSignal(0);
  /** End of the segment that plays, in seconds. */
  const stopAt = useRef(Infinity);
  const follow = (): void => {
    const player = audio.current;
    if (!player) return;
    time.value = player.currentTime;
    if (player.paused) return;
    if (player.currentTime >= stopAt.current) player.pause();
    requestAnimationFrame(follow);
  };
  const play = ({ start, end }: Segment): void => {
    const player = audio.current;
    if (!player) return;
    player.currentTime = start;
    stopAt.current = end;
    // `play()` rejects if paused before it starts. The player itself shows other errors.
    player.play().catch(() => undefined);
  };
  const seconds = samples ? samples.length / RATE : 0;
  return (
    <section class="card stack" aria-labelledby="sound-title" ref={card}>
      <div class="row row-between">
        <h2 id="sound-title" class="sound-title">
          {file.name}
        </h2>
        {samples && <span class="figures">{clock(seconds)}</span>}
      </div>
      {(samples !== null || phase.value === 'reading') && (
        <Waveform
          samples={samples ?? NOT_READ}
          played={seconds > 0 ? time.value / seconds : 0}
          onSeek={(share) => {
            stopAt.current = Infinity;
            if (audio.current) audio.current.currentTime = share * seconds;
          }}
        />
      )}
      <audio
        ref={audio}
        class="player"
        controls
        src={url}
        aria-label={`Player of ${file.name}`}
        onPlay={follow}
        onSeeked={follow}
        onPause={() => (stopAt.current = Infinity)}
      />
      <Progress seconds={seconds} />
      <Segments time={time.value} onPlay={play} />
      <Actions name={file.name} />
    </section>
  );
}

function Progress({ seconds }: { seconds: number }) {
  if (phase.value === 'stopped') {
    return (
      <div class="row">
        <Button onClick={() => void tryAgain()}>
          <Icon name="retry" />
          Transcribe again
        </Button>
      </div>
    );
  }
  if (phase.value !== 'reading' && phase.value !== 'transcribing') return null;
  const isReading = phase.value === 'reading';
  return (
    <div class="stack">
      <ProgressBar
        label={isReading ? 'Reading the file' : 'Transcribing'}
        value={doneSeconds.value}
        max={doneSeconds.value > 0 ? seconds : 0}
      />
      <div class="row row-between">
        <span class="figures">
          {isReading
            ? 'reading the file'
            : doneSeconds.value > 0
              ? `${clock(doneSeconds.value)} of ${clock(seconds)}`
              : 'transcribing'}
        </span>
        <Button look="quiet" onClick={cancel}>
          Cancel
        </Button>
      </div>
    </div>
  );
}

function Segments({ time, onPlay }: { time: number; onPlay: (segment: Segment) => void }) {
  if (segments.value.length === 0) {
    return phase.value === 'done' ? <p class="quiet small">No speech was recognized.</p> : null;
  }
  return (
    <ol class="segments" aria-label="Segments">
      {segments.value.map((segment) => {
        const { start, end, text } = segment;
        return (
          <li key={start}>
            <button
              type="button"
              class="segment"
              aria-current={time >= start && time < end && time > 0 ? 'true' : undefined}
              title="Play this"
              onClick={() => onPlay(segment)}
            >
              <span class="figures">{clock(start)}</span> <span dir="auto">{text}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

function Actions({ name }: { name: string }) {
  const all = segments.value;
  if (all.length === 0) return null;
  const save = (ending: string, text: string, type: string): void =>
    downloadBlob(renamed(name, ending), new Blob([text], { type }));
  return (
    <div class="row">
      <CopyButton text={toText(all)} label="Copy the text" caption="Copy" />
      <Button small onClick={() => save('txt', `${toText(all)}\n`, 'text/plain')}>
        Save as .txt
      </Button>
      <Button small onClick={() => save('srt', toSrt(all), 'application/x-subrip')}>
        Save as .srt
      </Button>
      <span class="figures">{plural(all.length, 'segment')}</span>
    </div>
  );
}
