/**
 * How much processor time this process spends on a task, in milliseconds: what takes long because other work is done
 * on the machine does not count. Tests of one file run one after the other, in a process of their own.
 */
export async function processorMs(task: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await task()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
