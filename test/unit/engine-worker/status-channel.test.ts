import { afterEach, expect, test, vi } from 'vitest';

import { StatusChannel } from '../../../src/engine-worker/status-channel.ts';
import { NO_ENGINE, statusChannel, WATCH_STATUS } from '../../../src/protocol/status.ts';

const tab = new BroadcastChannel(statusChannel('/watched/'));
const received: unknown[] = [];
tab.onmessage = ({ data }) => void received.push(data);
afterEach(() => void received.splice(0));

test('a tab that asks gets the status, and is known as a watcher from then on', async () => {
  const status = vi.fn(() => NO_ENGINE);
  const channel = new StatusChannel('/watched/', status);
  channel.changed();
  channel.changed();
  await vi.waitFor(() => expect(received).toHaveLength(1));
  expect(channel.isWatched).toBe(false);
  tab.postMessage(WATCH_STATUS);
  await vi.waitFor(() => expect(received).toHaveLength(2));
  expect(channel.isWatched).toBe(true);
  expect(status).toHaveBeenCalledTimes(2);
});
