/** What is said from one moment to another, in seconds of the file. */
export interface Segment {
  start: number;
  end: number;
  text: string;
}

/** SubRip. An arrow would end the line of times. */
export const toSrt = (segments: readonly Segment[]): string =>
  segments
    .map(
      ({ start, end, text }, at) =>
        `${at + 1}\n${stamp(start)} --> ${stamp(end)}\n${text.replaceAll('-->', '->')}\n\n`,
    )
    .join('');

export const toText = (segments: readonly Segment[]): string => segments.map(({ text }) => text).join(' ');

function stamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${parts.map(twoDigits).join(':')},${String(ms % 1000).padStart(3, '0')}`;
}

/** `0:04`, `12:30`, `1:02:03` */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = `${hours > 0 ? twoDigits(minutes) : minutes}:${twoDigits(whole % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** The name of a file with another ending. */
export const renamed = (name: string, ending: string): string => `${name.replace(/\.[^.]*$/, '')}.${ending}`;
