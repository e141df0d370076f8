/** Milliseconds of processor time that something takes in this process, whatever else the machine does. */
export async function cpuTime(work: () => unknown): Promise<number> {
  const began = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
