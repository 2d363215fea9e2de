/** A connection that speaks WebDriver BiDi (w3c.github.io/webdriver-bidi): commands and their answers, no events. */
export interface Bidi {
  send<R = unknown>(method: string, params: object): Promise<R>
}

interface Answer {
  readonly id: number | null
  readonly type: 'success' | 'error' | 'event'
  readonly result: unknown
  readonly error?: string
  readonly message?: string
}

export async function connectBidi(url: string): Promise<Bidi> {
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = () => reject(new Error(`nothing answers at ${url}`))
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let sent = 0
  socket.onmessage = ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer
    waiting.get(answer.id ?? 0)?.(answer)
    waiting.delete(answer.id ?? 0)
  }
  socket.onclose = () => {
    for (const [id, answer] of waiting) answer({ id, type: 'error', result: undefined, message: 'the browser is gone' })
  }
  return {
    async send<R>(method: string, params: object) {
      sent++
      const answered = new Promise<Answer>((resolve) => waiting.set(sent, resolve))
      socket.send(JSON.stringify({ id: sent, method, params }))
      const { type, result, error = '', message = '' } = await answered
      if (type === 'error') throw new Error(`${method}: ${error} ${message}`)
      return result as R
    },
  }
}
