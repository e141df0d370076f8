const PATHS = {
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  compare: 'M4 5h7v14H4zM13 5h7v14h-7z',
  embeddings: 'M6 7.5h.01M11 16.5h.01M17 6h.01M18 14h.01M5 18h.01M12 10.5h.01',
  decide: 'M5 7h14M5 12h9M5 17h5',
  picture: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15.5 9h.01',
  speech: 'M12 3.5a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0v-5a3 3 0 0 0-3-3M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
  speaker: 'M4 9.5h3.500L12 5.500v13L7.500 14.500H4zM15.500 9a4 4 0 0 1 0 6M18 6.500a7.500 7.500 0 0 1 0 11',
  talk: 'M4 10.500v3M8 7.500v9M12 4.500v15M16 7.500v9M20 10.500v3',
  pause: 'M8.500 6v12M15.500 6v12',
  play: 'M8 5.500v13l10-6.500z',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  keys: 'M14.5 9.5a4.5 4.5 0 1 0-4 4.47L12 12.5h2v2h2v2h4v-3.5l-5.6-5.2',
  requests: 'M4 6h7M8 12h9M13 18h7',
  device: 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  settings: 'M4 7h10M18 7h2M14 5v4M4 17h2M10 17h10M6 15v4',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  edit: 'M5 19h3.5L19 8.5 15.5 5 5 15.5z',
  retry: 'M19 12a7 7 0 1 1-2.1-5M19 4v4h-4',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  history: 'M4 6h16M4 12h16M4 18h10',
  download: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.300l1.4 1.400M17.3 17.300l1.4 1.400M5.3 18.700l1.4-1.400M17.3 6.700l1.4-1.4',
  dark: 'M19 14.5A8 8 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z',
  auto: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  external: 'M13 5h6v6M19 5l-9 9M16 14v5H5V8h5',
} as const;

export type IconName = keyof typeof PATHS;
const DOTS: ReadonlySet<IconName> = new Set(['more', 'embeddings']);

/** Always decoration: the control around it carries the name. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" stroke-width={DOTS.has(name) ? 3.2 : 1.7}>
      <path d={PATHS[name]} />
    </svg>
  );
}
