import type { Report } from './check.ts'
import type { HistoryEvent } from './history.ts'

/** Says in lines what a history showed: that each promise held, or the shortest history in which one did not. */
export function printReport({
  calls,
  sessions,
  signedIn,
  violations,
  exceptions,
  examples,
  losses,
  handledLate,
  shortest,
  holds,
}: Report): string {
  const counts = new Map<string, number>()
  for (const { promise } of violations) counts.set(promise, (counts.get(promise) ?? 0) + 1)
  const lines = [
    `${calls} calls of ${sessions} sessions, ${signedIn} with a sign-in: ${holds ? 'every promise held' : 'NOT every promise held'}`,
    ...[...counts].map(([promise, count]) => `  ${promise}: ${count} violations`),
    ...Object.entries(exceptions).map(
      ([name, count]) => `  exception, ${name}: ${count} sessions, such as: ${examples[name]?.says}`,
    ),
    `  sessions lost by faults: ${losses.seen}, allowed ${losses.allowed}`,
    `  sessions handled too late: ${handledLate.seen}, allowed ${handledLate.allowed}`,
  ]
  if (!shortest) return lines.join('\n')
  const { violation, events } = shortest
  const startMs = events[0]?.monotonicMs ?? 0
  return [
    ...lines,
    `The shortest history (${violation.promise}, session ${violation.session}): ${violation.says}`,
    ...events.map((event) => `  ${(event.monotonicMs - startMs).toFixed(1).padStart(9)} ms  ${printEvent(event)}`),
  ].join('\n')
}

function printEvent(event: HistoryEvent): string {
  const { type, monotonicMs: _, wallMs: __, ...rest } = event
  const members = Object.entries(rest).map(([name, value]) => `${name}=${value}`)
  return [type.padEnd(9), ...members].join(' ')
}
