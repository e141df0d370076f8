import { DEPARTURE_CHANNEL, type LeaderExit } from '../../protocol/discovery.ts';

/** Calls back when the page of that epoch's worker says that it leaves; the function returned stops the watch. */
export function watchDeparture(epoch: string, onDeparture: () => void): () => void {
  const channel = new BroadcastChannel(DEPARTURE_CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<LeaderExit>) => {
    if (data.epoch === epoch) onDeparture();
  };
  return () => channel.close();
}
