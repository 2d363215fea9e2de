import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  mostConnections: number
  mostConnectionsPerAddress: number
  mostPipelined: number
  stalledAnswerMs: number
  answerMs: number
}

/** The open connections of one server. */
export interface Connections {
  /**
   * Waits until what came before on this connection is answered: answers that wait for others would fill the memory.
   * `gone` when the connection is closed meanwhile.
   */
  turn(outgoing: ServerResponse): Promise<'go' | 'gone'>
}

interface Connection {
  readonly socket: Socket
  readonly address: string | undefined
  /** The requests that wait, in their order; the first one is being answered. */
  readonly turns: (() => void)[]
  /** The request that arrived last. */
  latest: IncomingMessage | undefined
  /** What had been read when the last answer was complete; undefined before that. */
  bytesAtAnswer: number | undefined
}

/** Bounds what connections can hold, and for how long (S-085, A-47). */
export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
  // In the order of the last request, or of the connection if it sent no request yet.
  const open = new Map<Socket, Connection>()

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    if (!makeRoom(address)) return socket.destroy()
    const connection: Connection = { socket, address, turns: [], latest: undefined, bytesAtAnswer: undefined }
    open.set(socket, connection)
    socket.once('close', () => {
      open.delete(socket)
      for (const go of connection.turns.splice(0)) go()
    })
  })
  // Node's timer starts again with each byte that moves. It also fires while an answer is prepared or awaits a body.
  server.timeout = limits.stalledAnswerMs
  server.on('timeout', (socket: Socket) => {
    const connection = open.get(socket)
    const isWaitingForMore = connection?.turns.length === 0 && connection.bytesAtAnswer !== undefined
    if (socket.writableLength > 0 || isWaitingForMore) socket.destroy()
  })
  // Called by close(). Node's own counts an answer as sent when it is handed over, and cuts it off.
  server.closeIdleConnections = () => {
    for (const connection of open.values()) if (isIdle(connection)) connection.socket.destroy()
  }

  /** Drops a connection that no whole request is answered on, when there are too many. */
  function makeRoom(address: string | undefined): boolean {
    if (open.size < Math.min(limits.mostConnections, limits.mostConnectionsPerAddress)) return true
    const sameAddress = [...open.values()].filter((connection) => connection.address === address)
    if (sameAddress.length >= limits.mostConnectionsPerAddress) return dropOne(sameAddress)
    return open.size < limits.mostConnections || dropOne([...open.values()])
  }
  /** The oldest one: an order by state would let new connections, whose headers are on the way, push out each other. */
  function dropOne(connections: Connection[]): boolean {
    const dropped = connections.find((connection) => !isBeingAnswered(connection))
    dropped?.socket.destroy()
    if (dropped !== undefined) open.delete(dropped.socket)
    return dropped !== undefined
  }
  function settle(connection: Connection): void {
    connection.turns.shift()
    connection.bytesAtAnswer = connection.socket.bytesRead
    connection.turns[0]?.()
    // The client may be sending already, and closing both ways would take the answer from it.
    if (!server.listening && isIdle(connection)) connection.socket.end()
  }
  return {
    async turn(outgoing) {
      const { socket } = outgoing.req
      const connection = open.get(socket)
      if (connection === undefined) return 'gone'
      open.delete(socket)
      open.set(socket, connection)
      connection.latest = outgoing.req
      const { turns } = connection
      if (turns.length >= limits.mostPipelined) {
        socket.destroy()
        return 'gone'
      }
      await new Promise<void>((go) => {
        turns.push(go)
        if (turns.length === 1) go()
      })
      if (!socket.writable) {
        socket.destroy()
        return 'gone'
      }
      const overdue = setTimeout(() => socket.destroy(), limits.answerMs).unref()
      outgoing.once('close', () => {
        clearTimeout(overdue)
        settle(connection)
      })
      return 'go'
    },
  }
}

/** Nothing is being answered, sent or received. */
function isIdle({ socket, turns, bytesAtAnswer }: Connection): boolean {
  return turns.length === 0 && socket.writableLength === 0 && socket.bytesRead === bytesAtAnswer
}

/** A whole request has arrived and is not answered, or its answer is not sent. A request without its body is not whole. */
function isBeingAnswered({ socket, turns, latest }: Connection): boolean {
  return turns.length > 1 || socket.writableLength > 0 || (turns.length === 1 && latest?.complete === true)
}
