// The format of a recorded history: one event a line, as JSON. Tokens appear only as fingerprints, which are hashes.

/** When an event happened. All processes of one machine share the monotonic clock, which decides the order. */
export interface Stamp {
  /** CLOCK_MONOTONIC of the machine, in milliseconds. */
  readonly monotonicMs: number
  /** The clock that the process believed in, in epoch milliseconds. It decides nothing. */
  readonly wallMs: number
}

export type CallKind = 'signIn' | 'getToken' | 'refresh' | 'signOut'

/** A process called its session. */
export interface Invoked extends Stamp {
  readonly type: 'invoked'
  /** Unique in the history. */
  readonly call: string
  readonly kind: CallKind
  /** One process from its start to its end. */
  readonly process: string
  /** One session object of that process, which has a memory of its own. */
  readonly holder: string
  /** The record that processes share. */
  readonly session: string
  /** The access token of a sign-in. */
  readonly token?: string
}

/** The call returned or rejected. A call without this event may have had its effect at each later moment, or never. */
export interface Completed extends Stamp {
  readonly type: 'completed'
  readonly call: string
  /** `ok`, or the code of the error. */
  readonly outcome: string
  /** The access token that the call returned. */
  readonly token?: string
  /** Of a sign-in: whether the storage confirmed its write. */
  readonly saved?: boolean
  /** When the holder's latest read of the storage that succeeded began, on the monotonic clock. */
  readonly readMs?: number
  /** When the holder's latest write that the storage confirmed ended, on the monotonic clock. */
  readonly savedMs?: number
  /** When the holder's latest write was sent, on the monotonic clock. 0: none was. Absent in recordings from before. */
  readonly writeMs?: number
  /** Whether a read has failed since. */
  readonly reads?: 'working' | 'failing'
}

/** The service answered a token request with tokens. */
export interface Issued extends Stamp {
  readonly type: 'issued'
  /** All tokens that descend from one sign-in. */
  readonly line: string
  /** 0 at the sign-in, and one more at each refresh. A repeated answer has the generation of the first. */
  readonly generation: number
  readonly how: 'sign-in' | 'rotated' | 'repeated'
  /** The user the tokens are for. */
  readonly person: string
  readonly access: string
  /** The session object that they were sent to. */
  readonly holder?: string
}

/** The service refused a refresh token for good. `reused`: it was used before, and its grace is over, so its line was revoked. */
export interface Refused extends Stamp {
  readonly type: 'refused'
  readonly line: string
  readonly generation: number
  readonly why: 'reused' | 'revoked'
  /** The process and the session object that sent the token. */
  readonly process?: string
  readonly holder?: string
  /** When the process sent the token, on the monotonic clock. */
  readonly sentMs?: number
}

/** A disturbance began or ended. */
export interface Fault extends Stamp {
  readonly type: 'fault'
  readonly name: string
  readonly phase: 'begins' | 'ends'
  /** Set where the storage may lose writes that it has confirmed: since how long before the beginning, in milliseconds. */
  readonly losesSinceMs?: number
  /** How many of 10,000 sessions it may cost. */
  readonly mayCost?: number
}

/** A process ran again after it had stood still, for example because it was paused. */
export interface Stalled extends Stamp {
  readonly type: 'stalled'
  readonly process: string
  /** How long it had stood still, in milliseconds. */
  readonly forMs: number
}

export type HistoryEvent = Invoked | Completed | Issued | Refused | Fault | Stalled

/** The members of each type of event. Those after the bar may be absent. */
const shapes: Readonly<Record<HistoryEvent['type'], string>> = {
  invoked: 'call:string kind:string process:string holder:string session:string | token:string',
  completed:
    'call:string outcome:string | token:string saved:boolean readMs:number savedMs:number writeMs:number reads:string',
  issued: 'line:string generation:number how:string person:string access:string | holder:string',
  refused: 'line:string generation:number why:string | process:string holder:string sentMs:number',
  fault: 'name:string phase:string | losesSinceMs:number mayCost:number',
  stalled: 'process:string forMs:number |',
}

/** Reads a history. Throws an Error with the number of a line that is none of its events, because a gap would hide a fault. */
export function parseHistory(text: string): HistoryEvent[] {
  return text.split('\n').flatMap((line, index) => {
    if (line === '') return []
    try {
      return [asEvent(JSON.parse(line))]
    } catch (error) {
      throw new Error(`Line ${index + 1} is not an event: ${error instanceof Error ? error.message : 'no JSON'}`)
    }
  })
}

/** Writes a history as `parseHistory` reads it. */
export function formatHistory(events: readonly HistoryEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('')
}

function asEvent(value: Record<string, unknown>): HistoryEvent {
  const shape = shapes[value?.type as HistoryEvent['type']]
  if (!shape) throw new Error('its type is unknown')
  const [present = [], optional = []] = shape.split('|').map((part) => part.match(/\S+/g) ?? [])
  const isOf = (member: string): boolean => {
    const [name = '', kind] = member.split(':')
    return typeof value[name] === kind
  }
  const isAbsent = (member: string): boolean => value[member.split(':')[0] ?? ''] === undefined
  const wrong = [
    ...[...present, 'monotonicMs:number', 'wallMs:number'].filter((member) => !isOf(member)),
    ...optional.filter((member) => !isAbsent(member) && !isOf(member)),
  ]
  if (wrong.length > 0) throw new Error(`it needs ${wrong.join(', ')}`)
  return value as unknown as HistoryEvent
}
