import { afterEach, expect, test, vi } from 'vitest';

import { StatusChannel } from '../../../src/engine-host/status-channel.ts';
import { NO_ENGINE, statusChannel, WATCH_STATUS } from '../../../src/protocol/status.ts';

const tab = new BroadcastChannel(statusChannel('/watched/'));
const received: unknown[] = [];
tab.onmessage = ({ data }) => void received.push(data);
afterEach(() => void received.splice(0));

test('requests are reported once a tab watches; changes of models always', async () => {
  const status = vi.fn(() => NO_ENGINE);
  const channel = new StatusChannel('/watched/', status);
  channel.requestsChanged();
  channel.changed();
  await vi.waitFor(() => expect(received).toHaveLength(1));
  channel.requestsChanged();
  channel.requestsChanged();
  tab.postMessage(WATCH_STATUS);
  await vi.waitFor(() => expect(received).toHaveLength(2));
  channel.requestsChanged();
  await vi.waitFor(() => expect(received).toHaveLength(3));
  // Nobody needed the others: they were not built.
  expect(status).toHaveBeenCalledTimes(3);
});
